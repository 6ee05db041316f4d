#include "apps/heaptap/commands/baselines.h"

#include <algorithm>
#include <utility>

#include "analysis/findings/capture_text.h"
#include "apps/heaptap/commands/trace_file.h"
#include "apps/heaptap/commands/trace_list.h"
#include "common/base/safe_text.h"

namespace heaptap::app {
namespace {

// The program's command line, independent of its build directory.
std::vector<std::string> arguments_of(const model::Capture& capture) {
  if (capture.command.empty()) return {};
  return {capture.command.begin() + 1, capture.command.end()};
}

}  // namespace

base::Result<Baselines> Baselines::open(const std::string& path) {
  const auto traces = list_traces({path});
  if (!traces) return std::unexpected(traces.error());
  Baselines baselines;
  baselines.path_ = path;
  for (const std::string& trace : *traces) {
    const auto reader = open_trace(trace);
    if (!reader) return std::unexpected(reader.error());
    baselines.entries_.push_back({trace, (*reader)->capture()});
  }
  return baselines;
}

std::vector<const Baselines::Entry*> Baselines::matching(const model::Capture& capture) const {
  std::vector<const Entry*> found;
  for (const Entry& entry : entries_) {
    if (findings::program_of(entry.capture) == findings::program_of(capture)) found.push_back(&entry);
  }
  std::vector<const Entry*> same_arguments = found;
  std::erase_if(same_arguments,
                [&](const Entry* entry) { return arguments_of(entry->capture) != arguments_of(capture); });
  return same_arguments.empty() ? found : same_arguments;
}

base::Result<std::string> Baselines::of(const std::string& trace) const {
  const auto reader = open_trace(trace);
  if (!reader) return std::unexpected(reader.error());
  const std::vector<const Entry*> found = matching((*reader)->capture());
  if (found.size() == 1) return found.front()->path;
  const std::string program = findings::program_of((*reader)->capture());
  if (found.empty()) {
    return base::fail(
        "check: '{}' is a trace of {}, for which '{}' has no baseline: record one there, or check it without "
        "--baseline",
        base::safe_text(trace), program, base::safe_text(path_));
  }
  return base::fail(
      "check: '{}' is a trace of {}, for which '{}' has {} baselines: compare it with one of them, such as '{}'",
      base::safe_text(trace), program, base::safe_text(path_), found.size(), base::safe_text(found.front()->path));
}

}  // namespace heaptap::app
