#include "capture/scan/resident_regions.h"

#include <algorithm>

#include "capture/scan/allocator_memory.h"
#include "capture/scan/own_mappings.h"
#include "capture/scan/range_labels.h"
#include "common/base/pages.h"

namespace heaptap::scan {
namespace {

using base::AddressRange;
using model::RegionKind;

struct RegionLabel {
  std::optional<RegionKind> kind;
  uint32_t arena = 0;
  bool operator==(const RegionLabel&) const = default;
};

AddressRange pages_around(AddressRange range) { return {base::page_begin(range.begin), base::whole_pages(range.end)}; }

AddressRange pages_within(AddressRange range) { return {base::whole_pages(range.begin), base::page_begin(range.end)}; }

// None: no memory of the process, but the kernel's.
std::optional<RegionKind> kind_of(const process::Mapping& mapping) {
  if (is_our_log(mapping) || is_agents_file(mapping.name)) return RegionKind::kHeaptap;
  if (mapping.is_kernels("[stack]")) return RegionKind::kStack;
  if (mapping.shared) return mapping.is_of_file_system() ? RegionKind::kFile : RegionKind::kShared;
  if (mapping.has_file()) return RegionKind::kFile;
  if (mapping.is_anonymous() || mapping.is_kernels("[heap]")) return RegionKind::kAnonymous;
  return std::nullopt;
}

class RegionFinder {
 public:
  RegionFinder(process::ProgramMemory& memory, const RegionQuery& query)
      : memory_(memory), query_(query), mapped_(query.mapped.begin(), query.mapped.end()) {
    std::ranges::sort(mapped_, {}, &AddressRange::begin);
  }

  std::vector<model::Region> find() {
    for (const process::Mapping& mapping : memory_.map()) {
      if (const auto kind = kind_of(mapping)) labels_.set(mapping.range, {kind});
    }
    for (const AddressRange& range : query_.layout.globals) paint(range, RegionKind::kGlobals);
    for (const process::Mapping& mapping : memory_.map()) {
      if (mapping.is_kernels("[heap]")) paint_main_heap(mapping.range);
      if (mapping.is_anonymous() && mapping.writable && !is_data(mapping.range.begin)) paint_anonymous(mapping.range);
    }
    for (const AddressRange& range : query_.layout.stacks) paint(range, RegionKind::kStack);
    for (const AddressRange& range : query_.layout.ended_stacks) paint(range, RegionKind::kEndedStack);
    for (const AddressRange& range : query_.layout.heaptap) paint(range, RegionKind::kHeaptap);
    for (const AddressRange& range : query_.own) labels_.set(pages_within(range), {RegionKind::kHeaptap});
    std::vector<model::Region> regions;
    labels_.each([&](AddressRange range, const RegionLabel& label) {
      if (!regions.empty() && regions.back().range.end == range.begin && regions.back().kind == *label.kind &&
          regions.back().arena == label.arena) {
        regions.back().range.end = range.end;
      } else {
        regions.push_back({.range = range, .kind = *label.kind, .arena = label.arena});
      }
    });
    return regions;
  }

 private:
  void paint(AddressRange range, RegionKind kind) {
    if (range.begin < range.end) labels_.set(pages_around(range), {kind});
  }

  // Calls use(AddressRange) for each part of the program's own mappings that lies in the mapping.
  template <typename Use>
  void for_each_mapped(AddressRange mapping, Use use) const {
    auto at = std::ranges::upper_bound(mapped_, mapping.begin, {}, &AddressRange::end);
    for (; at != mapped_.end() && at->begin < mapping.end; ++at) use(common_part(*at, mapping));
  }

  // A module's .bss is an anonymous mapping as well.
  [[nodiscard]] bool is_data(uint64_t address) const {
    const auto contains = [address](const AddressRange& range) { return range.contains(address); };
    return std::ranges::any_of(query_.layout.globals, contains) || std::ranges::any_of(query_.layout.heaptap, contains);
  }

  void paint_main_heap(AddressRange heap) {
    const uint64_t end = query_.layout.main_heap_end;
    if (!query_.layout.heap_parts.empty()) {
      for (const AddressRange& part : query_.layout.heap_parts) paint(part, RegionKind::kHeap);
    } else if (end == 0) {
      paint(heap, RegionKind::kAllocator);
    } else {
      paint({heap.begin, heap.contains(end) ? end : heap.end}, RegionKind::kHeap);
    }
  }

  void paint_anonymous(AddressRange mapping) {
    for_each_mapped(mapping, [&](AddressRange part) { paint(part, RegionKind::kMapped); });
    std::vector<AddressRange> arenas;
    if (!query_.layout.musl) {
      for (const ArenaHeap& heap : find_arena_heaps(memory_, mapping)) {
        arenas.push_back(heap.range);
        const auto known = std::ranges::find(arena_addresses_, heap.arena);
        const auto number = static_cast<uint32_t>(known - arena_addresses_.begin()) + 1;
        if (known == arena_addresses_.end()) arena_addresses_.push_back(heap.arena);
        labels_.set(pages_around(heap.range), {RegionKind::kArena, number});
      }
    }
    paint_blocks(mapping, arenas);
  }

  // What else of the mapping has blocks in it.
  void paint_blocks(AddressRange mapping, const std::vector<AddressRange>& arenas) {
    auto block = std::ranges::lower_bound(query_.blocks, mapping.begin, {}, &model::ScannedBlock::address);
    const auto skip_to = [&](uint64_t address) {
      block = std::ranges::lower_bound(block, query_.blocks.end(), address, {}, &model::ScannedBlock::address);
    };
    while (block != query_.blocks.end() && block->address < mapping.end) {
      const auto arena =
          std::ranges::find_if(arenas, [&](const AddressRange& a) { return a.contains(block->address); });
      if (arena != arenas.end()) {
        skip_to(arena->end);
      } else if (const auto own = memory_of_mapped_block(memory_, block->address)) {
        paint(common_part(*own, mapping), RegionKind::kMappedBlock);
        skip_to(own->end);
      } else {
        return paint_unknown_allocators(mapping, arenas);
      }
    }
  }

  void paint_unknown_allocators(AddressRange mapping, const std::vector<AddressRange>& arenas) {
    uint64_t begin = mapping.begin;
    for (const AddressRange& arena : arenas) {
      paint({begin, arena.begin}, RegionKind::kAllocator);
      begin = arena.end;
    }
    paint({begin, mapping.end}, RegionKind::kAllocator);
    // The kernel has merged memory of the program into it.
    for_each_mapped(mapping, [&](AddressRange part) {
      const auto block = std::ranges::lower_bound(query_.blocks, part.begin, {}, &model::ScannedBlock::address);
      if (block == query_.blocks.end() || block->address >= part.end) paint(part, RegionKind::kMapped);
    });
  }

  process::ProgramMemory& memory_;
  const RegionQuery& query_;
  std::vector<AddressRange> mapped_;  // ascending
  std::vector<uint64_t> arena_addresses_;
  PaintedRanges<RegionLabel> labels_;
};

// False: there are no more runs than fit.
bool append_runs(const std::vector<AddressRange>& parts, std::vector<AddressRange>& runs) {
  for (const AddressRange& part : parts) {
    if (!runs.empty() && runs.back().end == part.begin) {
      runs.back().end = part.end;
    } else if (runs.size() == model::kMaxResidentRuns) {
      return false;
    } else {
      runs.push_back(part);
    }
  }
  return true;
}

// `add_present`: appends the present parts of a range; false: unknown.
template <typename AddPresent>
std::optional<model::ResidentRegions> measure(std::vector<model::Region> regions, AddPresent add_present) {
  if (regions.size() > model::kMaxRegions) return std::nullopt;
  model::ResidentRegions result;
  std::vector<AddressRange> parts;
  for (model::Region& region : regions) {
    parts.clear();
    if (!add_present(region.range, parts)) return std::nullopt;
    for (const AddressRange& part : parts) region.resident_bytes += part.size();
    if (model::holds_blocks(region.kind) && result.has_all_runs) result.has_all_runs = append_runs(parts, result.runs);
  }
  result.regions = std::move(regions);
  return result;
}

}  // namespace

std::vector<model::Region> find_regions(process::ProgramMemory& memory, const RegionQuery& query) {
  return RegionFinder(memory, query).find();
}

std::optional<model::Note> note_of_unjoined(const MemoryLayout& layout,
                                            const std::optional<model::ResidentRegions>& resident) {
  std::vector<AddressRange> stacks = layout.unjoined_stacks;
  if (stacks.empty()) return std::nullopt;
  std::ranges::sort(stacks, {}, &AddressRange::begin);
  model::Note note{.kind = model::NoteKind::kThreadsNotJoined, .numbers = {stacks.size(), 0}};
  for (const AddressRange& stack : stacks) note.numbers[1] += stack.size();
  if (!resident) return note;
  uint64_t resident_bytes = 0;
  auto stack = stacks.begin();
  for (const model::Region& region : resident->regions) {
    while (stack != stacks.end() && stack->end <= region.range.begin) ++stack;
    if (stack == stacks.end()) break;
    const bool is_theirs = region.kind == model::RegionKind::kEndedStack && stack->begin < region.range.end;
    if (is_theirs) resident_bytes += region.resident_bytes;
  }
  note.numbers.push_back(resident_bytes);
  return note;
}

std::optional<model::ResidentRegions> measure_resident(std::vector<model::Region> regions,
                                                       const process::PageMap& pages, uint64_t deadline_ns) {
  return measure(std::move(regions), [&pages, deadline_ns](AddressRange range, std::vector<AddressRange>& parts) {
    return pages.present(range, deadline_ns, parts);
  });
}

std::optional<model::ResidentRegions> measure_resident(std::vector<model::Region> regions,
                                                       const process::PageStates& states) {
  return measure(std::move(regions), [&states](AddressRange range, std::vector<AddressRange>& parts) {
    states.present(range, parts);
    return true;
  });
}

}  // namespace heaptap::scan
