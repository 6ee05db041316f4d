// Text views of a leak scan: retained sizes, and differences between scans.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "analysis/findings/amount_text.h"
#include "analysis/findings/block_text.h"
#include "analysis/findings/capture_text.h"
#include "analysis/findings/function_name.h"
#include "analysis/findings/outcome.h"
#include "common/base/units.h"
#include "views/text/text_parts.h"
#include "views/text/text_table.h"

namespace heaptap::text {
namespace {

using base::format_bytes;
using base::format_count;

std::string more_text(const TextContext& context, size_t shown, uint64_t all) {
  if (shown >= all) return "";
  return context.ink.dim(fmt::format("({} more: -n N shows more)", format_count(all - shown))) + "\n";
}

std::string entry_text(const TextContext& context, const report::RetainedEntry& entry) {
  constexpr size_t kMaxCallerName = 64;
  if (entry.block) return findings::short_block_text(context.text, *entry.block);
  if (entry.stack_id != 0) {
    return fmt::format("#{}  {} from {}", entry.stack_id, entry.function,
                       context.text.site(entry.caller, kMaxCallerName));
  }
  return entry.type.empty() ? "(unknown)" : findings::short_safe(entry.type);
}

std::string changed_stack(const TextContext& context, const report::ChangedStack& stack) {
  std::string line;
  const auto part = [&](const report::BlockCount& count, const char* what) {
    if (count.blocks != 0) line += fmt::format("{}{} {}", line.empty() ? "" : ", ", findings::amount(count), what);
  };
  const report::BlockCount& older = stack.change.older;
  part(stack.change.appeared(), "new");
  if (older.blocks != 0) line += fmt::format(" ({} older)", findings::amount(older));
  part(stack.change.remained, "still there");
  part(stack.change.gone, "gone");
  return "\n  " + context.ink.bold(fmt::format("#{}  {}", stack.id, line)) +
         fmt::format("; by {}\n", findings::function_text(stack.function, stack.variant)) +
         frames_text(context, context.report.list(stack.frames));
}

// "(several variables together: server, shared, ...)", with as many names as fit on a line.
std::string sharing_text(const TextContext& context, const report::Globals& globals) {
  constexpr size_t kMaxNames = 5;
  constexpr std::string_view kAround = "(several variables together: , ...)";
  const size_t room = TextTable::room_below(context.options.width);  // 0: any
  size_t used = kAround.size();
  std::vector<std::string> names;
  for (const report::NamedRoot& variable : globals.shared_by) {
    std::string name = findings::short_safe(variable.name);
    used += name.size() + 2;
    if (names.size() == kMaxNames || (!names.empty() && room != 0 && used > room)) break;
    names.push_back(std::move(name));
  }
  if (names.empty()) return "(several variables together)";
  if (names.size() == 1 || names.size() < globals.shared_by.size()) names.emplace_back("...");
  return fmt::format("(several variables together: {})", fmt::join(names, ", "));
}

}  // namespace

std::string text_retained(const TextContext& context) {
  if (!context.report.retained) return title_of(context);
  const report::Retained& retained = *context.report.retained;
  std::string text = title_of(context) + "\n";
  text += fmt::format("Retained size by {} ({} reachable)\n\n", retained.by, findings::amount(retained.held));
  const bool is_block = retained.by == "block";
  std::vector<TextTable::Column> columns{{"RETAINED"}, {"SHARE"}, {"BLOCKS"}};
  if (!is_block) columns.push_back({"OWN"});  // a block's text has its size
  columns.push_back({is_block ? "BLOCK" : retained.by == "stack" ? "STACK" : "TYPE", Align::kLeft});
  TextTable table(std::move(columns), context.options.width);
  table.keep_names_whole();
  const size_t shown = std::min(retained.entries.size(), context.rows(20));
  for (size_t i = 0; i < shown; ++i) {
    const report::RetainedEntry& entry = retained.entries[i];
    std::vector<std::string> row{format_bytes(entry.retained.bytes), percent(entry.retained.bytes, retained.held.bytes),
                                 format_count(entry.retained.blocks)};
    if (!is_block) row.push_back(format_bytes(entry.own.bytes));
    row.push_back(entry_text(context, entry));
    table.add(std::move(row));
  }
  return text + table.render(context.ink) + more_text(context, shown, retained.entry_count) + remarks_of(context);
}

std::string text_globals(const TextContext& context) {
  if (!context.report.globals) return title_of(context);
  const report::Globals& globals = *context.report.globals;
  std::string text = title_of(context) + "\n";
  if (!context.report.known.any)
    return text + context.ink.yellow(fmt::format("unknown: {}\n", findings::nothing_seen_text(context.report))) +
           remarks_of(context);
  const bool are_all = globals.reachable.blocks == globals.held.blocks;
  if (!are_all) text += findings::amount(globals.reachable) + " reachable, ";
  text +=
      fmt::format("{}{} retained by global variables\n\n", findings::amount(globals.held), are_all ? "" : " of them");
  const size_t shown = std::min(globals.entries.size(), context.rows(20));
  std::vector<report::GlobalEntry> listed(globals.entries.begin(),
                                          globals.entries.begin() + static_cast<ptrdiff_t>(shown));
  report::BlockCount of_libraries;
  std::erase_if(listed, [&](const report::GlobalEntry& entry) {
    if (entry.of_libraries) of_libraries += entry.retained;
    return entry.of_libraries;
  });
  const bool has_others = std::ranges::any_of(listed, [](const auto& entry) { return !entry.also_from.empty(); });
  std::vector<TextTable::Column> columns{{"RETAINED"}, {"BLOCKS"}, {"POINTS TO"}};
  if (has_others) columns.push_back({"ALSO FROM", Align::kLeft});
  columns.push_back({"VARIABLE", Align::kLeft});
  TextTable table(std::move(columns), context.options.width);
  table.keep_names_whole();
  struct Row {
    report::BlockCount count;
    std::string what, direct, others;
  };
  const auto add = [&](Row row) {
    std::vector<std::string> cells{format_bytes(row.count.bytes), format_count(row.count.blocks),
                                   std::move(row.direct)};
    if (has_others) cells.push_back(std::move(row.others));
    cells.push_back(std::move(row.what));
    table.add(std::move(cells));
  };
  for (const report::GlobalEntry& entry : listed) {
    add({.count = entry.retained,
         .what = findings::root_text(context.text, entry.variable),
         .direct = findings::counted(entry.direct.blocks, "block"),
         .others = fmt::format("{}", fmt::join(entry.also_from, ", "))});
  }
  // The rows add up to the reachable blocks above them.
  report::BlockCount rest = globals.unlisted;
  for (const report::GlobalEntry& entry : std::span(globals.entries).subspan(shown)) rest += entry.retained;
  const auto add_sum = [&](const report::BlockCount& count, std::string what) {
    if (count.blocks != 0) add({.count = count, .what = std::move(what), .direct = "", .others = ""});
  };
  add_sum(rest, fmt::format("({} more: -n N shows more)", findings::counted(globals.entry_count - shown, "variable")));
  add_sum(of_libraries, "(memory of system libraries)");
  add_sum(globals.shared, sharing_text(context, globals));
  add_sum(globals.thread_locals, "(thread-local storage, no global variable)");
  add_sum(globals.mappings, context.report.capture.from_start
                                ? "(mapped memory, no variable)"
                                : "(blocks from before the recording or mapped memory: the variable is unknown)");
  add_sum(globals.stacks, "(stacks and registers alone)");
  text += table.render(context.ink);
  if (has_others)
    text += "\nALSO FROM: other roots that lead to some of it, perhaps stale words; --no-roots ignores a kind\n";
  return text + remarks_of(context);
}

std::string text_scans(const TextContext& context) {
  if (!context.report.scans) return title_of(context);
  const bool ignores = !context.report.ignored.rules.empty();
  std::vector<TextTable::Column> columns{{"SCAN"},     {"WHEN", Align::kLeft}, {"DEFINITE"},  {"INDIRECT"},
                                         {"POSSIBLE"}, {"REACHABLE"},          {"SUPPRESSED"}};
  if (ignores) columns.push_back({"IGNORED"});
  columns.insert(columns.end(), {{"BLOCKS"}, {"PAUSE"}});
  TextTable table(std::move(columns), context.options.width);
  for (const report::ScanEntry& scan : *context.report.scans) {
    std::vector<std::string> row{format_count(scan.facts.number),    findings::moment_of_scan(scan.facts),
                                 format_bytes(scan.definite.bytes),  format_bytes(scan.indirect.bytes),
                                 format_bytes(scan.possible.bytes),  format_bytes(scan.reachable.bytes),
                                 format_bytes(scan.suppressed.bytes)};
    if (ignores) row.push_back(format_bytes(scan.ignored.bytes));
    row.insert(row.end(), {format_count(scan.facts.blocks), base::format_duration(scan.facts.stopped_ns)});
    table.add(std::move(row));
  }
  return title_of(context) + "\n" + table.render(context.ink) + remarks_of(context);
}

std::string text_scan_changes(const TextContext& context) {
  if (!context.report.scan_changes) return title_of(context);
  const report::ScanChanges& changes = *context.report.scan_changes;
  std::string text = title_of(context) + "\n";
  text +=
      fmt::format("Lost in scan {} ({}), compared with scan {} ({})\n", changes.to.number,
                  findings::moment_of_scan(changes.to), changes.from.number, findings::moment_of_scan(changes.from));
  const auto row = [&](const char* name, const report::BlockCount& count, const char* what) {
    text += row_text(name, format_bytes(count.bytes),
                     fmt::format("in {}{}", findings::counted(count.blocks, "block"), what));
  };
  row("new", changes.total.appeared(), "");
  row("  allocated since", changes.total.allocated, "");
  row("  older", changes.total.older, ": not lost then");
  row("still there", changes.total.remained, "");
  row("gone", changes.total.gone, ": freed, or reachable again");
  const size_t shown = std::min(changes.stacks.size(), context.rows(20));
  for (size_t i = 0; i < shown; ++i) text += changed_stack(context, changes.stacks[i]);
  return text + more_text(context, shown, changes.stack_count) + remarks_of(context);
}

}  // namespace heaptap::text
