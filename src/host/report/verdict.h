// What `heaptap check` says: which limits hold, and which stacks broke the others.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "host/report/render.h"
#include "host/report/report.h"

namespace heaptap::report {

enum class LimitKind : uint8_t { kLeaked, kPeak, kLive, kAllocations };

struct LimitEntry {
  LimitKind kind = LimitKind::kLeaked;
  uint64_t figure = 0;
  uint64_t limit = 0;
  std::vector<StackEntry> stacks;  // of a limit that was broken: those that did most for it

  [[nodiscard]] bool broken() const { return figure > limit; }
};

struct Verdict {
  std::string trace_path;
  bool possible_counts = false;  // as leaked
  std::vector<LimitEntry> limits;
  std::vector<std::string> remarks;  // what makes the figures doubtful

  [[nodiscard]] bool passed() const {
    for (const LimitEntry& limit : limits) {
      if (limit.broken()) return false;
    }
    return true;
  }
};

// What a stack did for a limit's figure.
BlockCount share_of(LimitKind kind, bool possible_counts, const StackEntry& stack);

std::string render_verdict(const Verdict& verdict, const RenderOptions& options);
std::string render_verdict_json(const Verdict& verdict);
// On several traces. Those of `failures` couldn't be judged.
struct FailedTrace {
  std::string trace_path;
  std::string reason;
};
std::string render_verdicts_json(const std::vector<Verdict>& verdicts, const std::vector<FailedTrace>& failures);

}  // namespace heaptap::report
