// `heaptap show fragmentation`: the allocator's resident memory, and which stacks' blocks keep it resident.
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
using model::RegionKind;

std::string arenas_text(const TextContext& context, const report::Fragmentation& fragmentation) {
  constexpr size_t kRows = 16;
  TextTable table({{"ARENA", Align::kLeft, true}, {"RESIDENT"}, {"LIVE"}, {"FREE"}, {"OF WHOLE PAGES"}, {"BLOCKS"}},
                  context.options.width);
  report::ArenaUse rest;
  const size_t shown = std::min(fragmentation.arenas.size(), kRows);
  const auto add = [&table](const report::ArenaUse& arena, std::string name) {
    table.add({std::move(name), format_bytes(arena.resident_bytes), format_bytes(arena.live.bytes),
               format_bytes(arena.free_bytes()), format_bytes(arena.unused_bytes), format_count(arena.live.blocks)});
  };
  for (size_t i = 0; i < fragmentation.arenas.size(); ++i) {
    const report::ArenaUse& arena = fragmentation.arenas[i];
    if (i < shown) {
      add(arena, findings::arena_name(arena));
      continue;
    }
    rest.resident_bytes += arena.resident_bytes;
    rest.live += arena.live;
    rest.unused_bytes += arena.unused_bytes;
  }
  if (fragmentation.arenas.size() > shown)
    add(rest, fmt::format("({} more)", findings::counted(fragmentation.arenas.size() - shown, "arena")));
  return table.render(context.ink);
}

std::string keeps_text(const TextContext& context, const report::Fragmentation& fragmentation) {
  TextTable table({{"KEPT"}, {"LIVE"}, {"BLOCKS"}, {"PAGES"}, {"STACK", Align::kLeft}}, context.options.width);
  table.keep_names_whole();
  const ListedKeeps listed = listed_keeps(context, fragmentation.stacks, context.rows(20));
  for (const report::StackKeep& stack : listed.stacks) {
    table.add({format_bytes(stack.kept_bytes), format_bytes(stack.live.bytes), format_count(stack.live.blocks),
               format_count(stack.pages), stack_below(context, stack)});
  }
  return table.render(context.ink) +
         more_rows(context, listed.stacks.size() + listed.folded, fragmentation.stack_count, "stack") +
         libraries_line(context, listed, format_bytes(listed.sum.kept_bytes) + " kept resident by ");
}

// What can't be known of other allocators' memory.
std::string unknown_text(const report::Fragmentation& fragmentation) {
  const bool has_others = std::ranges::any_of(
      fragmentation.arenas, [](const report::ArenaUse& arena) { return arena.kind == RegionKind::kAllocator; });
  return has_others
             ? "\nOf an allocator other than glibc's, whole mappings with blocks in them count, and its arenas are "
               "unknown.\n"
             : "";
}

}  // namespace

std::string text_fragmentation(const TextContext& context) {
  const report::Report& report = context.report;
  if (report.moment_pages) return text_moment_pages(context, *report.moment_pages);
  std::string text = title_of(context) + "\n";
  if (!report.fragmentation || !report.totals.resident_parts) {
    return text + findings::resident_unknown_text(context.report.capture) + "\n" + remarks_of(context);
  }
  const report::ResidentParts& parts = *report.totals.resident_parts;
  const report::Fragmentation& fragmentation = *report.fragmentation;
  text += fmt::format("{} resident at {}: {}\n\n", format_bytes(parts.bytes), findings::moment_of(parts),
                      findings::resident_parts(parts));
  text += context.ink.bold("The allocator's memory by arena") + "\n\n" + arenas_text(context, fragmentation);
  text += unknown_text(fragmentation);
  text += fmt::format("\n{}: {} in whole pages, {} in pages with live blocks, which keep them resident\n\n",
                      parts.knows_all_blocks ? "Free" : "Free, or in blocks that weren't recorded",
                      format_bytes(fragmentation.unused_bytes), format_bytes(fragmentation.kept_bytes));
  if (fragmentation.stack_count == 0) return text + remarks_of(context);
  text += context.ink.bold("Stacks by bytes that their blocks keep resident beyond their own") + "\n\n";
  return text + keeps_text(context, fragmentation) + remarks_of(context);
}

}  // namespace heaptap::text
