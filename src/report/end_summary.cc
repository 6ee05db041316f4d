// The end of `heaptap run`: at most 12 lines.
//
//   how it ended, totals, peak ┬ what leaked ┬ all processes ┬ top leaks ┬ bad releases ┬ remarks ┬ trace, next
//
// What may have several lines shares those that the rest leaves.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <numeric>
#include <set>
#include <string_view>

#include "base/safe_text.h"
#include "base/units.h"
#include "report/note_text.h"
#include "report/process_sums.h"
#include "report/telling_frame.h"
#include "report/text_parts.h"
#include "report/text_safe.h"

namespace heaptap::report {
namespace {

using base::format_bytes;
using base::format_count;

using Lines = std::vector<std::string>;

constexpr size_t kMaxLines = 12;
constexpr size_t kMaxRemarks = 3;
constexpr size_t kMaxStacks = 5;
constexpr size_t kMaxErrors = 3;
constexpr size_t kMaxProcesses = 4;

std::string totals_line(const Report& report) {
  const Totals& totals = report.totals;
  return fmt::format("{}, {} in total, {} temporary ({})", counted(totals.allocations, "allocation"),
                     format_bytes(totals.allocated_bytes),
                     totals.temporary_known ? format_count(totals.temporary_allocations) : "an unknown number",
                     totals.temporary_known ? percent(totals.temporary_allocations, totals.allocations) : "-");
}

std::string peak_line(const Report& report) {
  const Totals& totals = report.totals;
  const std::string after = totals.peak_time_known ? " after " + base::format_duration(totals.peak_time_ns) : "";
  if (!totals.live_known) return "peak and what is still live are not known";
  return fmt::format("peak {}{}, still live {} in {}",
                     or_unknown(totals.peak_known, format_bytes(totals.peak_live_bytes)), after,
                     format_bytes(totals.live_bytes), counted(totals.live_blocks, "block"));
}

// What is listed of a stack: its leaks where a scan was made, else what is alive.
BlockCount listed_of(const StackEntry& stack) {
  if (!stack.leaks) return {stack.live_blocks, stack.live_bytes};
  return stack.leaks->definite.blocks != 0 ? BlockCount(stack.leaks->definite) += stack.leaks->below
                                           : stack.leaks->possible;
}

Lines stack_lines(const Report& report, size_t most) {
  Lines lines;
  for (const StackEntry& stack : report.stacks) {
    if (lines.size() >= most) {
      break;
    }
    const BlockCount count = listed_of(stack);
    if (stack.mapping || count.blocks == 0 || !stack.live_known) {
      continue;
    }
    const model::Frame* frame = telling_frame(stack.frames);
    const bool possible = stack.leaks && stack.leaks->definite.blocks == 0;
    lines.push_back(fmt::format("  {:>10} in {}{}: {} from {}", format_bytes(count.bytes),
                                counted(count.blocks, "block"), possible ? " (possibly)" : "", stack.function,
                                frame == nullptr ? "an unknown caller" : describe(*frame, kNameWidth)));
  }
  return lines;
}

std::string amount(const BlockCount& count) {
  return fmt::format("{} in {}", format_bytes(count.bytes), counted(count.blocks, "block"));
}

std::string leaks_line(const Leaks& leaks) {
  std::string text = fmt::format("lost for certain {}, below that {}, possibly {}", amount(leaks.definite),
                                 amount(leaks.indirect), amount(leaks.possible));
  if (leaks.suppressed.blocks != 0) text += ", suppressed " + amount(leaks.suppressed);
  return text;
}

// A word for the shell.
std::string quoted(const std::string& word) {
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](char character) {
    return std::isalnum(static_cast<unsigned char>(character)) != 0 ||
           std::string_view("/._-+,:%@=").find(character) != std::string_view::npos;
  });
  if (plain) {
    return word;
  }
  std::string text = "'";
  for (const char character : word) {
    text += character == '\'' ? std::string("'\\''") : std::string(1, character);
  }
  return text + "'";
}

// What a program was before it became this one; null: nothing that was recorded.
const ProcessEntry* before_exec(const Report& report) {
  if (report.capture.executed) return nullptr;
  for (size_t i = 1; i < report.processes.size(); ++i) {  // the first is the report's own
    const ProcessEntry& process = report.processes[i];
    if (process.capture.pid == report.capture.pid && process.capture.executed) return &process;
  }
  return nullptr;
}

std::string title_line(const Report& report) {
  const model::Capture& capture = report.capture;
  const ProcessEntry* const wrapper = before_exec(report);
  const std::string by = wrapper != nullptr ? fmt::format(", which {} executed", program_of(wrapper->capture)) : "";
  const std::string after = capture.ended ? " after " + base::format_duration(capture.duration_ns) : "";
  return fmt::format("{} (pid {}{}): {}{}", program_of(capture), capture.pid, by, exit_text(capture), after);
}

// Others than the one whose summary it is: what leaks most first, then what was largest; what became another program last.
std::vector<const ProcessEntry*> other_processes(const Report& report) {
  std::vector<const ProcessEntry*> others;
  for (size_t i = 1; i < report.processes.size(); ++i) others.push_back(&report.processes[i]);
  const auto rank = [](const ProcessEntry* process) {
    return std::tuple(process->capture.executed, ~process->leaks.definite.bytes, ~process->totals.peak_live_bytes);
  };
  std::ranges::stable_sort(others, {}, rank);
  return others;
}

std::string process_line(const ProcessEntry& process) {
  const model::Capture& capture = process.capture;
  std::string text = fmt::format("  {} (pid {}): ", program_of(capture), capture.pid);
  if (!process.failure.empty()) return text + base::safe_text(process.failure);
  const Totals& totals = process.totals;
  if (capture.executed) {
    text += fmt::format("{} before it executed another program", counted(totals.allocations, "allocation"));
  } else {
    const Leaks& leaks = process.leaks;
    text += !leaks.scanned               ? "leaks not known"
            : leaks.definite.blocks != 0 ? "lost " + amount(leaks.definite)
                                         : "nothing lost";
    if (totals.peak_known) text += ", peak " + format_bytes(totals.peak_live_bytes);
    if (capture.exit.signal || capture.exit.code.value_or(0) != 0) text += ", " + exit_text(capture);
  }
  if (const uint64_t errors = totals.bad_releases + totals.double_releases + totals.mismatched_releases; errors != 0) {
    text += ", " + counted(errors, "bad release");
  }
  return text + ": " + base::safe_text(process.trace_path);
}

std::string all_processes_line(const Report& report) {
  std::set<uint32_t> ids;
  for (const ProcessEntry& process : report.processes) ids.insert(process.capture.pid);
  const ProcessSums sums = sum_of(report.processes);
  std::string text = ids.size() == 1 ? fmt::format("this process in {} programs", report.processes.size())
                                     : fmt::format("all {} processes", ids.size());
  text += fmt::format(": {}, lost for certain {}", counted(sums.allocations, "allocation"), amount(sums.definite));
  if (sums.errors() != 0) text += fmt::format(", {}", counted(sums.errors(), "bad release"));
  if (sums.unscanned != 0) text += fmt::format("; of {} leaks are not known", sums.unscanned);
  return text;
}

Lines process_lines(const Report& report, size_t most) {
  if (report.processes.empty() || most == 0) return {};
  Lines lines{all_processes_line(report)};
  const std::vector<const ProcessEntry*> others = other_processes(report);
  const size_t room = most - 1;
  for (size_t i = 0; i < others.size(); ++i) {
    const bool is_last = lines.size() == room;
    if (room == 0) break;
    if (is_last && i + 1 < others.size()) {
      lines.push_back(fmt::format("  and {} more (-v lists them)", others.size() - i));
      break;
    }
    lines.push_back(process_line(*others[i]));
  }
  return lines;
}

std::string place_of(const std::vector<model::Frame>& frames) {
  const model::Frame* const frame = telling_frame(frames);
  return frame == nullptr ? "an unknown caller" : describe(*frame, kNameWidth);
}

std::string bad_releases_line(const Totals& totals) {
  return fmt::format("! {} bad, {} double, {} mismatched releases", format_count(totals.bad_releases),
                     format_count(totals.double_releases), format_count(totals.mismatched_releases));
}

// How many there are, and the first of them. Nothing where they aren't listed.
Lines error_lines(const Report& report) {
  Lines lines;
  for (const ErrorEntry& error : report.errors) {
    if (lines.empty()) lines.push_back(bad_releases_line(report.totals));
    if (lines.size() > kMaxErrors) break;
    std::string line = fmt::format("  {} release by {} from {}", error.kind,
                                   function_text(error.function, error.variant), place_of(error.frames));
    if (error.allocated) {
      line += fmt::format(", of {} from {}", function_text(error.allocated->function, error.allocated->variant),
                          place_of(error.allocated->frames));
    }
    if (error.count > 1) line += fmt::format(", {}", counted(error.count, "time"));
    lines.push_back(std::move(line));
  }
  return lines;
}

// What was lost, or could not be seen.
Lines remark_lines(const Report& report, size_t most) {
  Lines lines;
  if (report.capture.lost_events != 0) {
    lines.push_back(fmt::format("! {} lost: the numbers are not exact", counted(report.capture.lost_events, "event")));
  }
  if (const std::string uncertainty = uncertainty_of(report); !uncertainty.empty()) {
    lines.push_back("! " + uncertainty);
  }
  if (report.capture.truncated) {
    lines.push_back("! the trace is cut off: " + base::safe_text(report.capture.damage));
  }
  const Totals& totals = report.totals;
  const bool has_errors = totals.bad_releases + totals.double_releases + totals.mismatched_releases != 0;
  if (has_errors && report.errors.empty()) lines.push_back(bad_releases_line(totals));
  for (const std::string& note : sentences_of(report.capture.notes)) {
    lines.push_back("! " + base::safe_text(note));
  }
  for (const std::string& hint : report.hints) {
    lines.push_back("hint: " + base::safe_text(hint));
  }
  if (lines.size() > most) {
    const size_t more = lines.size() - (most - 1);
    lines.resize(most - 1);
    lines.push_back(fmt::format("! and {} more remarks: `heaptap show summary` has them all", more));
  }
  return lines;
}

// How many of `room` lines each part gets that wants so many: a line for each in turn, where its next one has room.
template <size_t kParts>
std::array<size_t, kParts> share(size_t room, const std::array<size_t, kParts>& wanted,
                                 const std::array<size_t, kParts>& least) {
  std::array<size_t, kParts> given{};
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (size_t i = 0; i < kParts; ++i) {
      const size_t next = given[i] == 0 ? std::min(least[i], wanted[i]) : 1;
      if (next == 0 || given[i] + next > wanted[i] || next > room) continue;
      given[i] += next;
      room -= next;
      goes_on = true;
    }
  }
  return given;
}

// Where to look next: at the leaks of this process, or of the one that leaks most.
std::string next_line(const Report& report) {
  const auto leaks = [](const Leaks& found) {
    return found.scanned && found.definite.blocks + found.possible.blocks != 0;
  };
  std::string path = report.trace_path;
  bool is_leak = leaks(report.leaks);
  const std::vector<const ProcessEntry*> others = other_processes(report);
  if (report.leaks.definite.blocks == 0 && !others.empty() && others.front()->leaks.definite.blocks != 0) {
    path = others.front()->trace_path;
    is_leak = true;
  }
  return fmt::format("next:  heaptap show {} {}", is_leak ? "leaks" : "summary", base::safe_text(quoted(path)));
}

}  // namespace

std::string render_end_summary(const Report& report, const RenderOptions& options) {
  const Ink ink(options.color);
  Lines lines{title_line(report), totals_line(report), ink.bold(peak_line(report))};
  if (report.totals.peak_mapped_bytes != 0) {
    lines.push_back(fmt::format("mapped with mmap: at most {}, now {}", format_bytes(report.totals.peak_mapped_bytes),
                                format_bytes(report.totals.mapped_live_bytes)));
  }
  if (report.leaks.scanned) {
    const bool any = report.leaks.definite.blocks + report.leaks.possible.blocks != 0;
    lines.push_back(any ? ink.red(leaks_line(report.leaks)) : leaks_line(report.leaks));
  }
  constexpr size_t kAtTheEnd = 2;
  const size_t room = kMaxLines - lines.size() - kAtTheEnd;
  const bool several = !report.processes.empty();
  const Lines stacks = stack_lines(report, kMaxStacks);
  const Lines errors = error_lines(report);
  // A part's title is worth nothing without a line below it.
  enum Part : size_t { kRemarks, kErrors, kProcesses, kStacks };
  const auto given = share<4>(
      room,
      {remark_lines(report, kMaxRemarks).size(), errors.size(),
       several ? 1 + std::min(report.processes.size() - 1, kMaxProcesses) : 0, stacks.empty() ? 0 : 1 + stacks.size()},
      {1, 2, 2, 2});
  const size_t processes = several && options.all_processes ? report.processes.size() + 1 : given[kProcesses];
  for (std::string& line : process_lines(report, processes)) lines.push_back(std::move(line));
  if (given[kStacks] > 1) {
    lines.push_back(report.leaks.scanned ? "top leaks:" : "most of what is still live:");
    lines.insert(lines.end(), stacks.begin(), stacks.begin() + static_cast<ptrdiff_t>(given[kStacks] - 1));
  }
  for (size_t i = 0; i < given[kErrors]; ++i) lines.push_back(i == 0 ? ink.red(errors[i]) : errors[i]);
  for (const std::string& remark : remark_lines(report, std::max<size_t>(given[kRemarks], 1))) {
    lines.push_back(ink.yellow(remark));
  }
  lines.push_back("trace: " + base::safe_text(quoted(report.trace_path)));
  lines.push_back(next_line(report));
  return std::accumulate(lines.begin(), lines.end(), std::string(), [](std::string text, const std::string& line) {
    return std::move(text) + "heaptap: " + line + "\n";
  });
}

}  // namespace heaptap::report
