#include "analysis/query/fragmentation_view.h"

#include <algorithm>
#include <functional>
#include <map>
#include <span>
#include <utility>

#include "analysis/query/listing.h"
#include "analysis/query/page_division.h"
#include "analysis/query/system_stacks.h"
#include "common/base/address_range.h"
#include "common/model/page_size.h"

namespace heaptap::query {
namespace {

using base::AddressRange;
using model::RegionKind;

// Resident memory that may hold blocks.
struct ResidentPiece {
  AddressRange range;
  size_t region;  // index
};

std::vector<ResidentPiece> pieces_of(const model::ResidentRegions& resident) {
  std::vector<ResidentPiece> pieces;
  auto run = resident.runs.begin();
  for (size_t i = 0; i < resident.regions.size(); ++i) {
    const model::Region& region = resident.regions[i];
    if (!model::holds_blocks(region.kind)) continue;
    while (run != resident.runs.end() && run->end <= region.range.begin) ++run;
    for (auto at = run; at != resident.runs.end() && at->begin < region.range.end; ++at) {
      pieces.push_back({{std::max(at->begin, region.range.begin), std::min(at->end, region.range.end)}, i});
      if (at->end <= region.range.end) run = std::next(at);
    }
  }
  return pieces;
}

// Whether the block counts: pools' blocks lie within others.
bool is_counted(const model::HeapScan& scan, size_t block) {
  return !model::is_pooled(scan.blocks[block].number) &&
         (scan.lives.empty() || scan.lives[block] != model::BlockLife::kFree);
}

// Calls use(block, piece, part) for each part of a counted block that is resident, ascending. No address counts twice, so
// a trace's blocks may overlap. Blocks of no bytes have a part of none.
template <typename Use>
void for_each_part(const model::HeapScan& scan, std::span<const ResidentPiece> pieces, Use use) {
  uint64_t next = 0;  // the first address that hasn't been counted
  auto piece = pieces.begin();
  for (size_t i = 0; i < scan.blocks.size(); ++i) {
    if (!is_counted(scan, i)) continue;
    const model::ScannedBlock& block = scan.blocks[i];
    AddressRange left{std::max(block.address, next), block.address + block.size_bytes};
    next = std::max(next, left.end + (block.size_bytes == 0 ? 1 : 0));
    while (piece != pieces.end() && piece->range.end <= left.begin) ++piece;
    if (left.begin > left.end) continue;
    for (auto at = piece; at != pieces.end(); ++at) {
      if (at->range.begin >= left.end && at->range.begin != left.begin) break;
      const AddressRange part{std::max(left.begin, at->range.begin), std::min(left.end, at->range.end)};
      if (part.begin > part.end || !at->range.contains(part.begin)) break;
      use(i, *at, part);
      if (left.end <= at->range.end) break;
      piece = at;
    }
  }
}

// Where a region's figures are: arenas have several regions.
std::vector<size_t> arena_indices(std::span<const model::Region> regions, std::vector<report::ArenaUse>& arenas) {
  std::map<std::pair<RegionKind, uint32_t>, size_t> known;
  std::vector<size_t> indices;
  for (const model::Region& region : regions) {
    if (!model::holds_blocks(region.kind)) {
      indices.push_back(0);
      continue;
    }
    const auto [at, is_new] = known.try_emplace({region.kind, region.arena}, arenas.size());
    if (is_new) arenas.push_back({.kind = region.kind, .arena = region.arena});
    report::ArenaUse& arena = arenas[at->second];
    arena.reserved_bytes += region.range.size();
    arena.resident_bytes += region.resident_bytes;
    arena.unused_bytes += region.resident_bytes;  // less those with blocks, later
    indices.push_back(at->second);
  }
  return indices;
}

uint64_t* part_of(report::ResidentParts& parts, RegionKind kind) {
  switch (kind) {
    case RegionKind::kHeap:
    case RegionKind::kArena:
    case RegionKind::kMappedBlock:
    case RegionKind::kAllocator:
      return &parts.free_bytes;
    case RegionKind::kMapped:
      return &parts.mapped_bytes;
    case RegionKind::kGlobals:
      return &parts.global_bytes;
    case RegionKind::kStack:
      return &parts.stack_bytes;
    case RegionKind::kEndedStack:
      return &parts.ended_stack_bytes;
    case RegionKind::kFile:
      return &parts.file_bytes;
    case RegionKind::kShared:
      return &parts.shared_bytes;
    case RegionKind::kHeaptap:
      return &parts.heaptap_bytes;
    case RegionKind::kAnonymous:
      break;
  }
  return &parts.other_bytes;
}

// A trace may claim any amounts: those of the allocator are what its runs have.
bool is_sound(const model::ResidentRegions& resident, std::span<const ResidentPiece> pieces) {
  std::vector<uint64_t> bytes(resident.regions.size());
  for (const ResidentPiece& piece : pieces) bytes[piece.region] += piece.range.size();
  for (size_t i = 0; i < bytes.size(); ++i) {
    const model::Region& region = resident.regions[i];
    if (model::holds_blocks(region.kind) && region.resident_bytes != bytes[i]) return false;
  }
  return resident.has_all_runs;
}

}  // namespace

std::optional<report::ResidentParts> resident_parts_of(const model::HeapScan& scan) {
  if (!scan.resident) return std::nullopt;
  const std::vector<ResidentPiece> pieces = pieces_of(*scan.resident);
  if (!is_sound(*scan.resident, pieces)) return std::nullopt;
  report::ResidentParts parts{
      .scan = scan.number, .at_end = scan.reason == model::ScanReason::kEnd, .time_ns = scan.time_ns};
  parts.knows_all_blocks = std::ranges::none_of(scan.notes, [](const model::Note& note) {
    return note.kind == model::NoteKind::kHeapNotKnown || note.kind == model::NoteKind::kEarlierBlocks;
  });
  for (const model::Region& region : scan.resident->regions) {
    *part_of(parts, region.kind) += region.resident_bytes;
    parts.bytes += region.resident_bytes;
  }
  for_each_part(scan, pieces, [&](size_t /*block*/, const ResidentPiece& /*piece*/, AddressRange part) {
    parts.live_bytes += part.size();
  });
  parts.free_bytes -= parts.live_bytes;
  return parts;
}

bool is_counted_page_size(uint64_t page_bytes) {
  return model::is_page_size(page_bytes) && page_bytes >= model::kRegionUnitBytes;
}

PageDivision::Take keep_in(std::vector<SiteKeep>& sites) {
  return [&sites](const DividedPage& page) {
    for (const PageShare& share : page.shares) {
      ++sites[share.group].pages;
      sites[share.group].kept_bytes += share.rest_bytes;
    }
  };
}

std::optional<Keeps> keeps_of(const model::HeapScan& scan, uint64_t page_bytes) {
  if (!scan.resident || !is_counted_page_size(page_bytes)) return std::nullopt;
  const std::vector<model::Region>& regions = scan.resident->regions;
  const std::vector<ResidentPiece> pieces = pieces_of(*scan.resident);
  if (!is_sound(*scan.resident, pieces)) return std::nullopt;
  Keeps keeps;
  const std::vector<size_t> indices = arena_indices(regions, keeps.arenas);
  for (const model::ScannedBlock& block : scan.blocks) {
    if (block.site >= keeps.sites.size()) keeps.sites.resize(size_t{block.site} + 1);
  }
  PageDivision pages(page_bytes, keeps.sites.size(), keep_in(keeps.sites));
  size_t last_block = scan.blocks.size();
  for_each_part(scan, pieces, [&](size_t i, const ResidentPiece& piece, AddressRange part) {
    const model::SiteId site = scan.blocks[i].site;
    report::ArenaUse& arena = keeps.arenas[indices[piece.region]];
    const report::BlockCount count{.blocks = uint64_t{last_block != i}, .bytes = part.size()};
    last_block = i;
    arena.live += count;
    keeps.sites[site].live += count;
    const PageDivision::Touched touched = pages.add(part, site);
    keeps.sites[site].pages += touched.full_pages;
    arena.unused_bytes -= std::min(touched.pages * page_bytes, arena.unused_bytes);
  });
  pages.finish();
  std::ranges::stable_sort(keeps.arenas, std::greater(), &report::ArenaUse::resident_bytes);
  return keeps;
}

std::vector<report::StackKeep> list_keeps(const KeepLists& lists, std::span<const SiteKeep> sites, uint64_t& count) {
  const model::Tables& tables = lists.tables;
  std::map<uint64_t, report::StackKeep> by_stack;
  for (model::SiteId site = 0; site < std::min(sites.size(), tables.sites.size()); ++site) {
    const SiteKeep& keep = sites[site];
    const uint64_t id = lists.index.id_of(site);
    if (keep.live.blocks + keep.unplaced.blocks == 0 || id == 0 || !lists.names.passes(tables, tables.sites[site]) ||
        (lists.ignored.any() && lists.ignored.contains(tables, tables.sites[site].stack))) {
      continue;
    }
    report::StackKeep& stack = by_stack[id];
    stack.stack_id = id;
    stack.live += keep.live;
    stack.unplaced += keep.unplaced;
    stack.pages += keep.pages;
    stack.kept_bytes += keep.kept_bytes;
  }
  std::vector<report::StackKeep> stacks;
  for (auto& [id, stack] : by_stack) stacks.push_back(std::move(stack));
  std::ranges::stable_sort(stacks, std::greater(), [](const report::StackKeep& stack) {
    return std::pair(stack.kept_bytes, stack.unplaced.bytes);
  });
  count = stacks.size();
  stacks.resize(listed(lists.query, stacks.size()));
  for (report::StackKeep& stack : stacks) {
    const model::Site& site = tables.sites[lists.index.first_site(stack.stack_id)];
    stack.function = called_name(site.function);
    stack.purpose = purpose_of(tables, site, lists.names);
    stack.frames = lists.names.list_frames(tables, site.stack, lists.query.asked.listing.frames.count());
  }
  return stacks;
}

std::optional<report::Fragmentation> fragmentation_view(const ViewContext& context) {
  const uint64_t page_bytes = context.source.capture().page_bytes;
  auto keeps = keeps_of(context.judged.scan, page_bytes);
  if (!keeps) return std::nullopt;
  report::Fragmentation fragmentation;
  fragmentation.page_bytes = page_bytes;
  fragmentation.arenas = std::move(keeps->arenas);
  for (const report::ArenaUse& arena : fragmentation.arenas) fragmentation.unused_bytes += arena.unused_bytes;
  const KeepLists lists{context.source.tables(), context.query, context.names, context.ignored, context.index};
  for (const SiteKeep& keep : std::span(keeps->sites).first(std::min(keeps->sites.size(), lists.tables.sites.size())))
    fragmentation.kept_bytes += keep.kept_bytes;
  fragmentation.stacks = list_keeps(lists, keeps->sites, fragmentation.stack_count);
  return fragmentation;
}

}  // namespace heaptap::query
