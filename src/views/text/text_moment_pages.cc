// `heaptap show fragmentation --to MOMENT`: pages with live blocks where no scan has counted the resident ones.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/findings/amount_text.h"
#include "analysis/findings/frame_text.h"
#include "analysis/findings/resident_text.h"
#include "common/base/units.h"
#include "views/text/text_parts.h"

namespace heaptap::text {
namespace {

using base::format_bytes;
using base::format_count;
using findings::amount;
using findings::counted;

std::string bytes_or_unknown(const std::optional<uint64_t>& bytes) { return bytes ? format_bytes(*bytes) : "unknown"; }

std::string resident_text(const report::Report& report, const report::MomentPages& pages) {
  std::string text;
  if (const auto& resident = report.totals.resident) {
    const std::string parts = findings::resident_parts(*resident);
    text = fmt::format("{} resident as last sampled before, after {}{}{}\n", format_bytes(resident->bytes),
                       base::format_duration(resident->time_ns), parts.empty() ? "" : ": ", parts);
  } else {
    text = "How much was resident then is unknown: no sample was taken before\n";
  }
  text += "Which pages were resident then is unknown: a leak scan counts them";
  if (pages.nearest_scan != 0) {
    text += fmt::format("; the nearest one is scan {}, after {} (--scan {})", pages.nearest_scan,
                        base::format_duration(pages.nearest_scan_ns), pages.nearest_scan);
  }
  return text + "\n";
}

std::string placed_text(const report::MomentPages& pages) {
  if (pages.placed.blocks == 0) return "";
  const auto most = pages.placed_keep_at_most(pages.rest_bytes);
  return fmt::format(
      "{} on {} of {}; kept resident beyond their own: {}\n", amount(pages.placed), counted(pages.pages, "page"),
      format_bytes(pages.page_bytes),
      most ? "at most " + format_bytes(*most) : "unknown, since releases weren't recorded: some of them may be free");
}

std::string unplaced_text(const report::MomentPages& pages) {
  std::string text;
  if (pages.unplaced.blocks != 0) {
    text += fmt::format(
        "{} without an address in the trace (it has none of blocks that are freed soon): what they kept is unknown\n",
        amount(pages.unplaced));
  }
  if (!pages.knows_all_blocks) text += "Blocks that weren't recorded aren't among these: what they kept is unknown\n";
  return text;
}

std::string stacks_text(const TextContext& context, const report::MomentPages& pages) {
  const bool any_unplaced = pages.unplaced.blocks != 0;
  std::vector<TextTable::Column> columns{{"KEPT AT MOST"}, {"LIVE"}, {"BLOCKS"}, {"PAGES"}};
  if (any_unplaced) columns.push_back({"NO ADDRESS"});
  columns.push_back({"STACK", Align::kLeft});
  TextTable table(columns, context.options.width);
  table.keep_names_whole();
  const ListedKeeps listed = listed_keeps(context, pages.stacks, context.rows(20));
  for (const report::StackKeep& stack : listed.stacks) {
    const auto most = stack.live.blocks != 0 ? pages.placed_keep_at_most(stack.kept_bytes) : std::nullopt;
    std::vector<std::string> cells{bytes_or_unknown(most), format_bytes(stack.live.bytes),
                                   format_count(stack.live.blocks), format_count(stack.pages)};
    if (any_unplaced) cells.push_back(format_count(stack.unplaced.blocks));
    cells.push_back(stack_below(context, stack));
    table.add(std::move(cells));
  }
  const auto most = pages.keeps_at_most(listed.sum);
  return table.render(context.ink) +
         more_rows(context, listed.stacks.size() + listed.folded, pages.stack_count, "stack") +
         libraries_line(context, listed, most ? fmt::format("at most {} kept resident by ", format_bytes(*most)) : "");
}

}  // namespace

std::string text_moment_pages(const TextContext& context, const report::MomentPages& pages) {
  const report::Report& report = context.report;
  const report::BlockCount live{.blocks = pages.placed.blocks + pages.unplaced.blocks,
                                .bytes = pages.placed.bytes + pages.unplaced.bytes};
  std::string text = title_of(context) + "\n";
  text += fmt::format("{} live at {}\n", live.blocks != 0 ? amount(live) : "nothing",
                      findings::moment_of(pages, report.window ? report.window->to : ""));
  text += resident_text(report, pages) + "\n" + placed_text(pages) + unplaced_text(pages);
  if (pages.stack_count == 0) return text + remarks_of(context);
  text += "\n" +
          context.ink.bold(
              pages.unplaced.blocks == 0
                  ? "Stacks by bytes that their blocks keep resident beyond their own, at most"
                  : "Stacks by bytes that their blocks with an address keep resident beyond their own, at most") +
          "\n\n";
  return text + stacks_text(context, pages) + remarks_of(context);
}

}  // namespace heaptap::text
