// Text views of a leak scan: retained sizes, and differences between scans.
#include <fmt/format.h>

#include "analysis/findings/amount_text.h"
#include "analysis/findings/block_text.h"
#include "analysis/findings/function_name.h"
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
  if (entry.block) return findings::block_text(context.text, *entry.block);
  if (entry.stack_id != 0) {
    return fmt::format("#{}  {} from {}", entry.stack_id, entry.function,
                       context.text.both(entry.caller, kMaxCallerName));
  }
  return entry.type.empty() ? "(unknown)" : findings::short_safe(entry.type);
}

std::string when_text(const report::ScanFacts& scan) {
  return scan.at_end ? "at the program's end" : "at " + base::format_duration(scan.time_ns);
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

}  // namespace

std::string text_retained(const TextContext& context) {
  if (!context.report.retained) return title_of(context);
  const report::Retained& retained = *context.report.retained;
  std::string text = title_of(context) + "\n";
  text += fmt::format("Retained size by {} ({} reachable)\n\n", retained.by, findings::amount(retained.held));
  const bool is_block = retained.by == "block";
  TextTable table({{"RETAINED"},
                   {"SHARE"},
                   {"BLOCKS"},
                   {is_block ? "SIZE" : "OWN"},
                   {is_block                 ? "BLOCK"
                    : retained.by == "stack" ? "STACK"
                                             : "TYPE",
                    Align::kLeft}},
                  context.options.width);
  const size_t shown = std::min(retained.entries.size(), context.rows(20));
  for (size_t i = 0; i < shown; ++i) {
    const report::RetainedEntry& entry = retained.entries[i];
    table.add({format_bytes(entry.retained.bytes), percent(entry.retained.bytes, retained.held.bytes),
               format_count(entry.retained.blocks), format_bytes(entry.own.bytes), entry_text(context, entry)});
  }
  return text + table.render(context.ink) + more_text(context, shown, retained.entry_count) + remarks_of(context);
}

std::string text_globals(const TextContext& context) {
  if (!context.report.globals) return title_of(context);
  const report::Globals& globals = *context.report.globals;
  std::string text = title_of(context) + "\n";
  text += fmt::format("{} retained by global variables\n\n", findings::amount(globals.held));
  TextTable table({{"RETAINED"}, {"BLOCKS"}, {"POINTS TO"}, {"VARIABLE", Align::kLeft}}, context.options.width);
  const size_t shown = std::min(globals.entries.size(), context.rows(20));
  report::BlockCount rest = globals.unlisted;
  for (size_t i = 0; i < globals.entries.size(); ++i) {
    const report::GlobalEntry& entry = globals.entries[i];
    if (i >= shown) {
      rest += entry.retained;
    } else {
      table.add({format_bytes(entry.retained.bytes), format_count(entry.retained.blocks),
                 findings::counted(entry.direct.blocks, "block"), findings::root_text(context.text, entry.variable)});
    }
  }
  // The rows add up to the total above them.
  const auto add_sum = [&](const report::BlockCount& count, const std::string& what) {
    if (count.blocks != 0) table.add({format_bytes(count.bytes), format_count(count.blocks), "", what});
  };
  add_sum(rest, fmt::format("({} more: -n N shows more)", findings::counted(globals.entry_count - shown, "variable")));
  add_sum(globals.shared, "(several variables together)");
  text += table.render(context.ink);
  if (globals.elsewhere.blocks != 0) {
    text += fmt::format(
        "\n{} more are held by global variables, and by stacks, registers or other memory as well (--no-roots leaves "
        "those out)\n",
        findings::amount(globals.elsewhere));
  }
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
    std::vector<std::string> row{format_count(scan.facts.number),    when_text(scan.facts),
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
  text += fmt::format("Lost in scan {} ({}), compared with scan {} ({})\n", changes.to.number, when_text(changes.to),
                      changes.from.number, when_text(changes.from));
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
