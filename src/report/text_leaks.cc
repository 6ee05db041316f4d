// What a leak scan found.
#include <fmt/format.h>

#include "base/safe_text.h"
#include "base/units.h"
#include "report/note_text.h"
#include "report/text_blocks.h"
#include "report/text_parts.h"
#include "report/text_safe.h"

namespace heaptap::report {
namespace {

using base::format_bytes;

std::string leaks_of_stack(const TextContext& context, const StackEntry& stack) {
  const StackLeaks& leaks = *stack.leaks;
  std::string line;
  const auto part = [&](const BlockCount& count, const char* what) {
    if (count.blocks != 0) line += fmt::format("{}{} {}", line.empty() ? "" : ", ", amount(count), what);
  };
  part(leaks.definite, "definitely lost");
  part(leaks.below, "indirectly lost below");
  std::string text = "  " + context.ink.bold(fmt::format("#{}  {}", stack.id, line));
  const bool is_certain = !line.empty();
  line.clear();
  part(leaks.indirect, is_certain ? "of its own below others" : "indirectly lost, below others");
  part(leaks.possible, "possibly lost");
  text += is_certain && !line.empty() ? ", " + line : line;
  const std::string calls = stack.calls_known ? counted(stack.allocations, "allocation") + " " : "";
  text += fmt::format("; {}by {}", calls, function_text(stack.function, stack.variant));
  return text + "\n" + frames_text(context, stack);
}

std::string live_stack(const TextContext& context, const StackEntry& stack) {
  std::string text = "  " + context.ink.bold(fmt::format("#{}  {} live in {}", stack.id, format_bytes(stack.live_bytes),
                                                         counted(stack.live_blocks, "block")));
  text += fmt::format(" of {} by {}", counted(stack.allocations, "allocation"),
                      function_text(stack.function, stack.variant));
  return text + "\n" + frames_text(context, stack);
}

std::string stack_with_leaks(const TextContext& context, const StackEntry& stack) {
  return stack.leaks ? leaks_of_stack(context, stack) : live_stack(context, stack);
}

std::string scan_text(const Leaks& leaks) {
  const ScanFacts& scan = leaks.scan;
  std::string text = fmt::format(
      "Scan {} of {}, {}: the program stood still for {}, {} were read, {} were looked at\n", scan.number,
      leaks.scan_count, scan.at_end ? "at the program's end" : "asked for after " + base::format_duration(scan.time_ns),
      base::format_duration(scan.stopped_ns), format_bytes(scan.read_bytes), counted(scan.blocks, "block"));
  for (const std::string& note : sentences_of(scan.notes)) text += "  ! " + base::safe_text(note) + "\n";
  for (const std::string& line : leaks.unused_suppressions) {
    text += "  ! a suppression that matched nothing: " + base::safe_text(line) + "\n";
  }
  for (const std::string& line : leaks.broad_suppressions) {
    text += "  ! a suppression that fits every stack: " + base::safe_text(line) + "\n";
  }
  return text;
}

}  // namespace

std::string leak_totals_text(const TextContext& context) {
  const Leaks& leaks = context.report.leaks;
  if (!leaks.scanned) return "";
  std::string text;
  const auto kind = [&](const char* name, const BlockCount& count, bool is_bad) {
    const std::string line = row_text(name, format_bytes(count.bytes), "in " + counted(count.blocks, "block"));
    text += is_bad && count.blocks != 0 ? context.ink.red(line) : line;
  };
  kind("definitely lost", leaks.definite, true);
  kind("indirectly lost", leaks.indirect, true);
  kind("possibly lost", leaks.possible, true);
  kind("reachable", leaks.reachable, false);
  if (leaks.behind_headers.blocks != 0) {
    text += row_text("  behind headers", format_bytes(leaks.behind_headers.bytes),
                     "in " + counted(leaks.behind_headers.blocks, "block") +
                         ", held at one offset with others of their stack or call");
  }
  if (leaks.suppressed.blocks != 0) kind("suppressed", leaks.suppressed, false);
  if (leaks.unknown.blocks != 0) {
    text +=
        row_text("unknown", format_bytes(leaks.unknown.bytes),
                 "in " + counted(leaks.unknown.blocks, "block") + ": nothing leads to them, but they may be released");
  }
  return text;
}

std::string text_leaks(const TextContext& context) {
  const Report& report = context.report;
  std::string text = title_of(context) + "\n";
  if (report.leaks.scanned) {
    text += scan_text(report.leaks) + leak_totals_text(context);
  } else {
    text += context.ink.yellow(
        "No leak scan was made: this is what was not released, whether something still points to it or not.");
    text += '\n';
    text += row_text("still live", or_unknown(report.totals.live_known, format_bytes(report.totals.live_bytes)),
                     "in " + counted(report.totals.live_blocks, "block"));
  }
  return text + stacks_text(context, context.rows(20), stack_with_leaks) + remarks_of(context);
}

}  // namespace heaptap::report
