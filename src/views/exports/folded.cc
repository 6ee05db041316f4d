// Folded stacks, the input of Brendan Gregg's flamegraph.pl: one stack per line, outermost frame first, frames separated by
// semicolons, then a space and one number.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "common/base/safe_text.h"
#include "views/exports/frame_text.h"
#include "views/exports/profile_writers.h"

namespace heaptap::exports {
namespace {

// A name that holds none of the format's separators.
std::string without_separator(std::string name) {
  std::ranges::replace(name, ';', ':');
  return name;
}

}  // namespace

base::Result<> write_folded(const Input& input, const report::Write& write) {
  const report::Report& report = input.report;
  HEAPTAP_TRY(require(input.metric, report));
  for (const report::StackEntry& stack : report.stacks) {
    const uint64_t value = input.metric.of(stack).counted();
    if (stack.is_apart() || value == 0) continue;
    std::string line;
    for (const report::FrameIndex frame : report.frames.outermost_first(stack.frames)) {
      line += without_separator(name_of(report.frames[frame])) + ";";
    }
    write(fmt::format("{}{} {}\n", line, without_separator(base::safe_text(stack.function)), value));
  }
  return {};
}

}  // namespace heaptap::exports
