// The end of `heaptap run`: at most 12 lines.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "host/base/units.h"
#include "host/report/telling_frame.h"
#include "host/report/text_parts.h"
#include "host/report/text_safe.h"

namespace heaptap::report {
namespace {

using base::format_bytes;
using base::format_count;

constexpr size_t kMostLines = 12;
constexpr size_t kMostRemarks = 3;

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

std::vector<std::string> stack_lines(const Report& report, size_t most) {
  std::vector<std::string> lines;
  for (const StackEntry& stack : report.stacks) {
    if (lines.size() >= most) {
      break;
    }
    const BlockCount count = listed_of(stack);
    if (stack.mapping || count.blocks == 0 || !stack.live_known) {
      continue;
    }
    const symbols::Frame* frame = telling_frame(stack.frames);
    const bool possible = stack.leaks && stack.leaks->definite.blocks == 0;
    lines.push_back(fmt::format("  {:>10} in {}{}: {} from {}", format_bytes(count.bytes),
                                counted(count.blocks, "block"), possible ? " (possibly)" : "", stack.function,
                                frame == nullptr ? "an unknown caller" : describe(*frame, kNameWidth)));
  }
  return lines;
}

std::string leaks_line(const Leaks& leaks) {
  const auto amount = [](const BlockCount& count) {
    return fmt::format("{} in {}", format_bytes(count.bytes), counted(count.blocks, "block"));
  };
  std::string text = fmt::format("lost for certain {}, below that {}, possibly {}", amount(leaks.definite),
                                 amount(leaks.indirect), amount(leaks.possible));
  if (leaks.suppressed.blocks != 0) text += ", suppressed " + amount(leaks.suppressed);
  return text;
}

// What was lost, wrong, or could not be seen.
std::vector<std::string> remark_lines(const Report& report) {
  std::vector<std::string> lines;
  const Totals& totals = report.totals;
  if (report.capture.lost_events != 0) {
    lines.push_back(fmt::format("! {} lost: the numbers are not exact", counted(report.capture.lost_events, "event")));
  }
  if (const std::string uncertainty = uncertainty_of(report); !uncertainty.empty()) {
    lines.push_back("! " + uncertainty);
  }
  if (report.capture.truncated) {
    lines.push_back("! the trace is cut off: " + safe_text(report.capture.damage));
  }
  if (totals.bad_frees + totals.double_frees + totals.mismatched_frees != 0) {
    lines.push_back(fmt::format("! {} bad, {} double, {} mismatched releases", format_count(totals.bad_frees),
                                format_count(totals.double_frees), format_count(totals.mismatched_frees)));
  }
  for (const std::string& note : report.capture.notes) {
    lines.push_back("! " + safe_text(note));
  }
  for (const std::string& hint : report.hints) {
    lines.push_back("hint: " + safe_text(hint));
  }
  if (lines.size() > kMostRemarks) {
    const size_t more = lines.size() - (kMostRemarks - 1);
    lines.resize(kMostRemarks - 1);
    lines.push_back(fmt::format("! and {} more remarks: `heaptap show summary` has them all", more));
  }
  return lines;
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

}  // namespace

std::string render_end_summary(const Report& report, const RenderOptions& options) {
  const Ink ink(options.color);
  std::vector<std::string> lines{totals_line(report), ink.bold(peak_line(report))};
  if (report.totals.peak_mapped_bytes != 0) {
    lines.push_back(fmt::format("mapped with mmap: at most {}, now {}", format_bytes(report.totals.peak_mapped_bytes),
                                format_bytes(report.totals.mapped_live_bytes)));
  }
  if (report.leaks.scanned) {
    const bool any = report.leaks.definite.blocks + report.leaks.possible.blocks != 0;
    lines.push_back(any ? ink.red(leaks_line(report.leaks)) : leaks_line(report.leaks));
  }
  const std::vector<std::string> remarks = remark_lines(report);
  const size_t room = kMostLines - lines.size() - remarks.size() - 2;
  const std::vector<std::string> stacks = stack_lines(report, std::min<size_t>(room - 1, 5));
  if (!stacks.empty()) {
    lines.push_back(report.leaks.scanned ? "top leaks:" : "most of what is still live:");
    lines.insert(lines.end(), stacks.begin(), stacks.end());
  }
  for (const std::string& remark : remarks) {
    lines.push_back(ink.yellow(remark));
  }
  const std::string path = quoted(report.trace_path);
  lines.push_back("trace: " + safe_text(path));
  const bool leaks = report.leaks.definite.blocks + report.leaks.possible.blocks != 0;
  lines.push_back(fmt::format("next:  heaptap show {} {}", leaks ? "leaks" : "summary", safe_text(path)));
  std::string text;
  for (const std::string& line : lines) {
    text += "heaptap: " + line + "\n";
  }
  return text;
}

}  // namespace heaptap::report
