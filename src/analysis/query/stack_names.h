// Names of whole stacks, and the filters by name.
#pragma once
#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <unordered_map>
#include <vector>

#include "analysis/patterns/name_filter.h"
#include "analysis/query/label_names.h"
#include "analysis/report/frame_list.h"
#include "analysis/report/skipped_names.h"
#include "analysis/symbols/resolver.h"
#include "common/model/tables.h"

namespace heaptap::query {

// Frames searched for the telling one.
constexpr uint32_t kTellingFrames = 64;

class StackNames {
 public:
  StackNames(const symbols::ResolverOptions& options, std::string function, std::string module,
             const std::vector<std::string>& tags, report::SkippedNames skipped, bool lists_interpreter)
      : resolver_(options),
        function_(std::move(function)),
        module_(std::move(module)),
        tags_(tags),
        skipped_(std::move(skipped)),
        lists_interpreter_(lists_interpreter) {}

  // Frames of a stack's innermost code; null for heaptap's own. The caller of a signal handler is the signal.
  struct CodeFrames {
    const std::vector<model::Frame>* frames = nullptr;
    bool is_called_by_signal = false;
    bool of_interpreter = false;
  };
  CodeFrames frames_at(const model::Tables& tables, model::StackId stack);

  // Innermost first, inlined frames included; at most `depth` of them (0: all).
  std::vector<model::Frame> frames_of(const model::Tables& tables, model::StackId stack, uint32_t depth);

  // Same as a path in a table of frames that grows; the lists of one report share it. Each stack of the trace is named once, however many
  // stacks it is an outer part of. Without the interpreter's frames that interpreted ones called, unless they are to be listed.
  report::FramePath list_path(const model::Tables& tables, model::StackId stack, uint32_t depth);
  std::vector<report::FrameIndex> list_frames(const model::Tables& tables, model::StackId stack, uint32_t depth);
  // Frames of such a path; valid until the next list.
  [[nodiscard]] report::FrameList listed(report::FramePath path) const;
  // Frame that names the allocation site, and its index in that table (report::kNoFrame: none).
  model::Frame telling_frame(const model::Tables& tables, model::StackId stack);
  report::FrameIndex list_telling_frame(const model::Tables& tables, model::StackId stack);
  // Returns that table; the next list starts a new one.
  report::FrameTable take_listed();

  [[nodiscard]] bool filters() const { return !function_.empty() || !module_.empty() || !tags_.empty(); }

  // Whether a frame of the stack (or the allocation function itself) matches the function filter, a frame the module filter, and the
  // site's label the tags.
  bool passes(const model::Tables& tables, const model::Site& site);

  [[nodiscard]] const report::SkippedNames& skipped() const { return skipped_; }
  [[nodiscard]] symbols::Resolver& resolver() { return resolver_; }
  [[nodiscard]] std::vector<model::SymbolHint> hints(size_t limit) const { return resolver_.hints(limit); }

 private:
  struct Match {
    bool function = false;
    bool module = false;
  };
  // Stack of the trace in the table: completely, or as far as it is shown where stacks are cut.
  struct Listed {
    report::NodeIndex node = report::kRootNode;  // of its innermost frame
    uint32_t depth = 0;                          // number of all its frames; 0: not all are in the table
  };
  struct Step {
    model::StackId stack;
    report::FrameIndex first;  // of its code's frames in the table
    uint32_t count;
  };
  // As frames_at(), null also for what isn't listed.
  CodeFrames listed_at(const model::Tables& tables, model::StackId stack);
  bool is_called_by_program(const model::Tables& tables, model::StackId stack);
  // The index of the first frame of a code in the table.
  report::FrameIndex list_code(const model::Tables& tables, model::StackId stack, const CodeFrames& found);
  // The node of a stack's innermost frame, which may get its frame later.
  report::NodeIndex node_for(model::StackId stack);
  report::NodeIndex list_step(const Step& step, report::NodeIndex caller);
  report::NodeIndex caller_beyond(const model::Tables& tables, model::StackId stack);
  // Of a code: its frames, and what is asked of the innermost one at each stack.
  struct CodeNames {
    const std::vector<model::Frame>* frames = nullptr;
    bool is_agent = false;
    bool of_interpreter = false;
  };
  CodeNames names_of_code(const model::Tables& tables, model::CodeId code);
  static CodeNames names_in(const std::vector<model::Frame>& frames);
  // Names from the source if it has them, else from symbols.
  const std::vector<model::Frame>& find_frames(const model::Tables& tables, model::CodeId code);
  Match match_of(const model::Tables& tables, model::CodeId code);

  symbols::Resolver resolver_;
  std::unordered_map<model::CodeId, std::vector<model::Frame>> brought_;  // from Tables
  std::vector<CodeNames> of_code_;                                        // by code; without frames: not found yet
  patterns::NameFilter function_;
  patterns::NameFilter module_;
  TagFilter tags_;
  report::SkippedNames skipped_;
  bool lists_interpreter_;
  std::vector<bool> called_by_program_;  // by stack: whether a frame further out is an interpreted one
  boost::unordered_flat_map<model::CodeId, Match> matches_;
  boost::unordered_flat_map<model::StackId, report::FrameIndex> telling_;  // by stack: index into `listed_`
  std::vector<model::Frame> listed_;
  report::FrameTrie trie_;
  std::vector<Listed> nodes_;  // by stack of the trace
  std::vector<Step> steps_;    // of the path being listed
  // By code, and whether a signal called it: index of its first frame in `listed_`; report::kNoFrame: none.
  std::vector<std::array<report::FrameIndex, 2>> places_;
};

}  // namespace heaptap::query
