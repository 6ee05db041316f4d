// Suppressions of the user: leaks hidden by their stacks.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/query/module_files.h"
#include "analysis/query/suppression_file.h"
#include "analysis/report/frame_list.h"
#include "common/base/result.h"
#include "common/model/capture.h"
#include "common/model/frame.h"
#include "common/wire/functions.h"

namespace heaptap::query {

// Stack of an allocation: the allocation function, and its callers, innermost first, inlined ones included.
struct NamedStack {
  wire::Function function = wire::Function::kNone;
  report::FrameList frames;
  const ModuleFiles* files = nullptr;  // null: each module's path is its file

  [[nodiscard]] std::string_view file_of(const model::Frame& frame) const {
    return files == nullptr ? std::string_view(frame.module) : files->of(frame.module);
  }
};

class Suppressions {
 public:
  // Adds those of a file, or of a text; `file` is its name for messages. On error nothing is added.
  base::Result<> read(const std::string& path);
  base::Result<> add(std::string_view text, const std::string& file);

  // Adds those that a trace carries, except duplicates of present ones.
  base::Result<> add(const std::vector<model::SuppressionText>& carried);

  // Source texts of all added ones, for a trace to carry.
  [[nodiscard]] const std::vector<model::SuppressionText>& texts() const { return texts_; }

  [[nodiscard]] bool empty() const { return list_.empty(); }
  [[nodiscard]] const std::vector<Suppression>& list() const { return list_; }

  // First one that matches a stack's leak of this state, as an index into list().
  [[nodiscard]] std::optional<size_t> find(const NamedStack& stack, leaks::BlockState state) const;

 private:
  std::vector<Suppression> list_;
  std::vector<model::SuppressionText> texts_;
};

// Whether a function is in every stack of a program or thread: main, its callers, and the callers of thread functions.
bool is_in_every_stack(std::string_view function);
// Whether a suppression matches nothing but such functions, so that it hides nearly all leaks.
bool hides_everything(const Suppression& suppression);

// All of them, in order. An unreadable or invalid file is a usage error.
base::Result<Suppressions> read_suppressions(const std::vector<std::string>& paths);

// Whether a suppression matches the names of a stack, regardless of its states.
bool matches(const Suppression& suppression, const NamedStack& stack);

// Valgrind's patterns: * matches any text, ? any character; the whole text must match.
bool matches_wildcards(std::string_view pattern, std::string_view text);
// LSan's patterns: * matches any text, a leading ^ and trailing $ anchor the pattern; else it may match anywhere.
bool matches_lsan(std::string_view pattern, std::string_view text);

}  // namespace heaptap::query
