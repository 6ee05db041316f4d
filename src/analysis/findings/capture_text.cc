#include "analysis/findings/capture_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "analysis/findings/amount_text.h"
#include "analysis/findings/words.h"
#include "analysis/report/process_sums.h"
#include "common/base/safe_text.h"
#include "common/base/units.h"

namespace heaptap::findings {

std::string moment_text(const model::Capture& capture, uint64_t time_ns) {
  switch (capture.import.unit) {
    case model::TimeUnit::kInstructions:
      return counted(time_ns, "instruction");
    case model::TimeUnit::kAllocatedBytes:
      return base::format_bytes(time_ns) + " allocated";
    case model::TimeUnit::kNanoseconds:
      break;
  }
  return base::format_duration(time_ns);
}

bool is_peak_placed(const report::Report& report) {
  return report.totals.peak_time_ns.is_known() || !report.capture.import.has_times();
}

std::string process_of(const model::Capture& capture) {
  return capture.import.tool.empty() ? fmt::format(" (pid {})", capture.pid) : "";
}

std::string program_of(const model::Capture& capture) {
  const std::string& command = capture.command.empty() ? capture.executable : capture.command.front();
  return base::safe_text(command.substr(command.rfind('/') + 1));
}

std::string peak_process_text(const report::Report& report) {
  const report::ProcessEntry* const process = report::peak_process_of(report);
  return process == nullptr ? "" : base::safe_text(program_of(process->capture) + process_of(process->capture));
}

bool lost_sight_of(const model::Capture& capture) {
  return model::has_note(capture.notes, model::NoteKind::kConnectionLost);
}

std::string exit_text(const model::Capture& capture) {
  if (capture.running) return "still being recorded";
  if (capture.truncated) return "incomplete";
  if (!capture.import.tool.empty()) return "how it ended is not known";
  if (capture.is_of_core() && !capture.exit.signal) return "as it was when its core was written";
  if (capture.exit.signal) {
    const char* const name = sigabbrev_np(*capture.exit.signal);
    return fmt::format("killed by signal {}{}", *capture.exit.signal,
                       name != nullptr ? fmt::format(" (SIG{})", name) : "");
  }
  if (capture.exit.code) {
    return fmt::format("exited with {}", *capture.exit.code);
  }
  if (lost_sight_of(capture)) return "out of reach";
  if (capture.executed) return "executed another program";
  if (capture.detached) return "detached";
  return capture.ended ? "exit status unknown" : "the recording did not end";
}

std::string late_start_of(const report::Report& report) {
  if (report.capture.from_start) return "";
  if (report.capture.is_of_core()) {
    return "of a core file: blocks, and what points to them, but no calls and no stacks";
  }
  return report.of_run ? "some processes inherited blocks from their parent, or were attached to: these earlier blocks "
                         "are not in their traces"
                       : "recording began while the program ran: earlier allocations are not in it";
}

std::string uncertainty_of(const report::Report& report) {
  const report::KnownVerdicts& known = report.known;
  if (known.gaps.empty()) return {};
  std::vector<std::string> unknown;
  if (!known.leaks && report.leaks.scanned) unknown.emplace_back("which blocks are lost");
  if (!known.releases) unknown.emplace_back("which releases are bad");
  std::vector<std::string> gaps;
  for (const report::Gap gap : known.gaps) {
    if (gap != report::Gap::kUnrecordedChildren) gaps.push_back(words_of(gap));  // a note says how many there were
  }
  if (unknown.empty() || gaps.empty()) return {};
  return fmt::format("uncertain: {} ({})", fmt::join(unknown, ", "), fmt::join(gaps, ", "));
}

const char* nothing_seen_text(const report::Report& report) {
  if (report.capture.is_of_core()) {
    return "the core doesn't have a heap of glibc that can be followed from end to end";
  }
  return report.capture.from_start ? "nothing was seen of what it allocates"
                                   : "no allocation was seen while it was recorded";
}

const char* limit_of_no_leaks(const report::Report& report) {
  if (!report.known.leaks) return " found";
  if (report.capture.is_of_core()) return " in glibc's heaps";
  return report.known.children && report.capture.from_start ? "" : " in what was recorded";
}

std::string incomplete_text(const model::Capture& capture) {
  return capture.running ? capture.damage : "incomplete: " + capture.damage;
}

}  // namespace heaptap::findings
