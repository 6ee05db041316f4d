// Results of a leak scan, as text.
#include <fmt/format.h>

#include <vector>

#include "analysis/findings/amount_text.h"
#include "analysis/findings/block_text.h"
#include "analysis/findings/capture_text.h"
#include "analysis/findings/function_name.h"
#include "analysis/findings/mapped_text.h"
#include "analysis/findings/note_text.h"
#include "analysis/findings/outcome.h"
#include "analysis/findings/words.h"
#include "common/base/safe_text.h"
#include "common/base/units.h"
#include "views/text/text_parts.h"

namespace heaptap::text {
namespace {

using base::format_bytes;

// "76.2 KiB (192 B direct, 76.0 KiB indirect) in 8 blocks definitely lost": blocks below a leak count with it.
std::string definite_text(const report::StackLeaks& leaks) {
  report::BlockCount sum = leaks.definite;
  sum += leaks.below;
  const std::string parts = leaks.below.blocks == 0
                                ? ""
                                : fmt::format(" ({} direct, {} indirect)", format_bytes(leaks.definite.bytes),
                                              format_bytes(leaks.below.bytes));
  return fmt::format("{}{} in {} definitely lost", format_bytes(sum.bytes), parts,
                     findings::counted(sum.blocks, "block"));
}

std::string indirect_text(const report::StackLeaks& leaks) {
  const std::string holder =
      leaks.held_by == 0 ? ""
                         : fmt::format(" (held by #{}{})", leaks.held_by, leaks.has_more_holders ? " and others" : "");
  return findings::amount(leaks.indirect) + " indirectly lost" + holder;
}

// " at handle(int) cycle.cc:5"
std::string headline_site(const TextContext& context, const report::StackEntry& stack) {
  constexpr size_t kMaxName = 48;
  const std::string site = context.text.innermost_site(context.report.list(stack.frames), kMaxName);
  return site.empty() ? "" : " at " + site;
}

// "      50 blocks in cycles, such as #b2 -> #b3 -> #b2"
std::string cycle_line(const report::StackLeaks& leaks) {
  if (leaks.in_cycles.blocks == 0) return "";
  const bool is_one = leaks.in_cycles.blocks == 1;
  const std::string ring = (is_one ? ": " : ", such as ") + findings::ring_text(leaks.cycle);
  return fmt::format("      {} in {}{}\n", findings::counted(leaks.in_cycles.blocks, "block"),
                     is_one ? "a cycle" : "cycles", leaks.cycle.empty() ? "" : ring);
}

std::string leaks_of_stack(const TextContext& context, const report::StackEntry& stack) {
  const report::StackLeaks& leaks = *stack.leaks;
  std::vector<std::string> parts;
  if (leaks.definite.blocks != 0) parts.push_back(definite_text(leaks));
  // Blocks below its own leaks are listed with those.
  const bool is_told = leaks.definite.blocks != 0 && leaks.held_by == 0 && leaks.indirect.blocks <= leaks.below.blocks;
  if (leaks.indirect.blocks != 0 && !is_told) parts.push_back(indirect_text(leaks));
  if (leaks.possible.blocks != 0) parts.push_back(findings::amount(leaks.possible) + " possibly lost");
  std::string text = "  " + context.ink.bold(fmt::format("#{}  {}", stack.id, parts.empty() ? "" : parts.front()));
  text += headline_site(context, stack);
  for (size_t i = 1; i < parts.size(); ++i) text += ", " + parts[i];
  const std::optional<uint64_t> allocations = stack.allocations.if_known();
  const std::string calls = allocations ? findings::counted(*allocations, "allocation") + " " : "";
  if (stack.rare->earlier.empty())
    text += fmt::format("; {}by {}", calls, findings::function_text(stack.function, stack.variant));
  const std::string holder = findings::held_until_exit_text(leaks);
  if (!holder.empty()) text += "\n      " + holder;
  return text + "\n" + cycle_line(leaks) + frames_text(context, stack);
}

// A file of another tool may have bytes alone.
bool counts_blocks(const report::Report& report) { return report.capture.import.tells(model::kNotRecordedCounts); }

std::string live_stack(const TextContext& context, const report::StackEntry& stack) {
  const bool has_blocks = counts_blocks(context.report);
  const std::string blocks = has_blocks ? " in " + findings::counted(stack.live_blocks.counted(), "block") : "";
  const base::Known<uint64_t> bytes = stack.own_live_bytes();
  std::string text =
      "  " + context.ink.bold(fmt::format("#{}  {}{}{} not freed{}", stack.id, bytes.is_known() ? "" : "at most ",
                                          format_bytes(bytes.counted()), blocks, findings::mapped_behind(stack)));
  text += headline_site(context, stack);
  const std::optional<uint64_t> allocations = stack.allocations.if_known();
  if (!allocations) return text + "\n" + frames_text(context, stack);
  text += fmt::format("; {} by {}", findings::counted(*allocations, "allocation"),
                      findings::function_text(stack.function, stack.variant));
  return text + "\n" + frames_text(context, stack);
}

std::string stack_with_leaks(const TextContext& context, const report::StackEntry& stack) {
  return stack.leaks ? leaks_of_stack(context, stack) : live_stack(context, stack);
}

// Without known releases, neither bytes nor blocks are known: what is counted includes blocks that were freed.
std::string not_freed_text(const report::Report& report) {
  const report::Totals& totals = report.totals;
  const std::string blocks =
      counts_blocks(report) ? "in " + findings::counted(totals.live_blocks.counted(), "block") : "";
  if (totals.live_bytes.is_known()) return row_text("not freed", format_bytes(totals.live_bytes.counted()), blocks);
  const std::string limit = format_bytes(totals.live_bytes.counted()) + (blocks.empty() ? "" : " " + blocks);
  return row_text("not freed", "unknown", "at most " + limit);
}

// Of one scan, or of those of a run.
std::string scan_facts_text(const report::Report& report) {
  const report::Leaks& leaks = report.leaks;
  const report::ScanFacts& scan = leaks.scan;
  if (report.capture.is_of_core()) {
    return fmt::format("Scan of the core: read {}, {}\n", format_bytes(scan.read_bytes),
                       findings::counted(scan.blocks, "block"));
  }
  if (scan.number == 0) {
    return fmt::format("{}: paused {} in all, scanned {}, {}\n", findings::counted(leaks.scan_count, "scan"),
                       base::format_duration(scan.stopped_ns), format_bytes(scan.read_bytes),
                       findings::counted(scan.blocks, "block"));
  }
  const std::string number = leaks.scan_count > 1 ? fmt::format(" {} of {}", scan.number, leaks.scan_count) : "";
  return fmt::format("Scan{} {}: paused {}, scanned {}, {}\n", number,
                     findings::moment_of_scan(scan) + (scan.at_end || scan.at_exit_start ? "" : " (on request)"),
                     base::format_duration(scan.stopped_ns), format_bytes(scan.read_bytes),
                     findings::counted(scan.blocks, "block"));
}

std::string scan_text(const report::Report& report) {
  const report::Leaks& leaks = report.leaks;
  std::string text = scan_facts_text(report);
  for (const std::string& note : findings::sentences_of(leaks.scan.notes))
    text += "  ! " + base::safe_text(note) + "\n";
  for (const std::string& line : leaks.unused_suppressions) {
    text += "  ! unused suppression: " + base::safe_text(line) + "\n";
  }
  for (const std::string& line : leaks.broad_suppressions) {
    text += "  ! suppression matches every stack: " + base::safe_text(line) + "\n";
  }
  return text;
}

// Of one kind of blocks: "1.4 KiB in 20 blocks: GLib's types, glibc's locales". Empty: libraries keep none.
std::string kept_text(const report::Leaks& leaks, report::BlockCount report::KeptByLibrary::* kind) {
  report::BlockCount sum;
  std::string purposes;
  for (const report::KeptByLibrary& kept : leaks.kept_by_libraries) {
    if ((kept.*kind).blocks == 0) continue;
    sum += kept.*kind;
    purposes += (purposes.empty() ? ": " : ", ") + findings::words_of(kept.purpose);
  }
  if (sum.blocks == 0) return "";
  return row_text("  of libraries", format_bytes(sum.bytes), "in " + findings::counted(sum.blocks, "block") + purposes);
}

}  // namespace

std::string leak_totals_text(const TextContext& context) {
  const report::Leaks& leaks = context.report.leaks;
  if (!leaks.scanned) return "";
  std::string text;
  const auto kind = [&](const char* name, const report::BlockCount& count, bool is_bad, const std::string& what = "") {
    if (count.blocks == 0) return;
    const std::string line =
        row_text(name, format_bytes(count.bytes), "in " + findings::counted(count.blocks, "block") + what);
    text += is_bad ? context.ink.red(line) : line;
  };
  kind("definitely lost", leaks.definite, true);
  kind("indirectly lost", leaks.indirect, true);
  kind("possibly lost", leaks.possible, true);
  text += kept_text(leaks, &report::KeptByLibrary::possible);
  const char* const tags_hint = leaks.possible.blocks == 0
                                    ? ", reachable by tagged pointers or distances"
                                    : ", by tagged pointers or distances (--tagged-pointers counts these)";
  kind("  by tags", leaks.behind_tags, false, tags_hint);
  kind("lost in pools", report::BlockCount(leaks.pools.definite) += leaks.pools.indirect, true,
       " of the program's pools, within what is counted as live");
  if (!context.report.known.any)
    text += context.ink.yellow(fmt::format("  unknown: {}\n", findings::nothing_seen_text(context.report)));
  else if (text.empty() && leaks.unknown.blocks == 0)
    text += fmt::format("  no leaks{}\n", findings::limit_of_no_leaks(context.report));
  const std::string holder = context.report.filter.empty() ? findings::retained_text(context.report) : "";
  kind("still reachable", leaks.reachable, false, holder.empty() ? "" : ", " + holder);
  text += kept_text(leaks, &report::KeptByLibrary::reachable);
  // If all blocks of a stack or call are pointed to at one offset, or at a class record, that is a header, not a
  // coincidence.
  kind("  by a header", leaks.behind_headers, false, ", reachable only by a pointer to a header");
  kind("suppressed", leaks.suppressed, false);
  kind("ignored", leaks.ignored, false, ", lost");
  kind("released since", leaks.released_since, false, ": after the scan, by the program's end");
  const bool is_core = context.report.capture.is_of_core();
  kind("unknown", leaks.unknown, false,
       is_core ? ": nothing in the core points to them" : ": nothing points to them, but they may have been freed");
  return text;
}

std::string text_leaks(const TextContext& context) {
  const report::Report& report = context.report;
  std::string text = title_of(context) + "\n";
  if (report.leaks.scanned) {
    text += scan_text(report) + leak_totals_text(context);
  } else {
    text += context.ink.yellow("No leak scan was made: these blocks were not freed; some may still be reachable.");
    text += '\n';
    text += not_freed_text(report);
  }
  const std::span<const report::StackEntry> stacks(report.stacks);
  const auto listed = stacks.first(std::min(stacks.size(), context.rows(20)));
  return text + stacks_text(context, listed, 0, stack_with_leaks) + remarks_of(context);
}

}  // namespace heaptap::text
