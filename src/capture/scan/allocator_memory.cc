#include "capture/scan/allocator_memory.h"

#include <elf.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "capture/elf/dynamic_section.h"
#include "common/base/address_ranges.h"
#include "common/base/pages.h"

namespace heaptap::scan {
namespace {

constexpr uint64_t kMaxMainHeapBytes = uint64_t{1} << 46;
constexpr uint64_t kBins = 127;
constexpr size_t kBinsWords = kBins * 2;
constexpr uint64_t kBinmapBytes = 16;  // then the next arena

// HEAP_MAX_SIZE
uint64_t arena_alignment(const process::ProgramMemory& memory) {
  return memory.word_bytes() == sizeof(uint32_t) ? uint64_t{1} << 20 : uint64_t{64} << 20;
}

struct ArenaHead {
  uint64_t arena;
  uint64_t previous;
  uint64_t size;
  uint64_t protected_size;
};

// The header of the heap at this address, if it is one: its arena begins in a heap with the same arena.
std::optional<ArenaHead> arena_head_at(const process::ProgramMemory& memory, uint64_t address) {
  const uint64_t word = memory.word_bytes();
  const auto words = memory.words({address, address + 4 * word});
  if (words.size() < 4) return std::nullopt;
  const ArenaHead head{words[0], words[1], words[2], words[3]};
  const uint64_t alignment = arena_alignment(memory);
  if (head.arena % (2 * word) != 0 || head.size > alignment || head.protected_size > alignment || head.size == 0 ||
      !base::is_page_aligned(head.size) || head.protected_size < head.size) {
    return std::nullopt;
  }
  const uint64_t first = head.arena & ~(alignment - 1);
  constexpr uint64_t kLargestHead = 64;
  if (head.arena - first < 4 * word || head.arena - first > kLargestHead) return std::nullopt;
  if (memory.word(first) != head.arena) return std::nullopt;
  return head;
}

bool is_arena(const process::ProgramMemory& memory, uint64_t address) {
  return memory.word(address & ~(arena_alignment(memory) - 1)) == address;
}

// Whether the ring of arenas that continues at `next` returns to `begin`. The address of the next one is at a fixed
// offset in each.
bool closes_ring(const process::ProgramMemory& memory, uint64_t begin, uint64_t next_offset, uint64_t next) {
  constexpr uint32_t kMaxArenas = 1u << 16;
  for (uint32_t i = 0; i < kMaxArenas && next != begin; ++i) {
    if (!is_arena(memory, next)) return false;
    next = memory.word(next + next_offset).value_or(0);
  }
  return next == begin;
}

// Start of the arena with these bins. The members before them differ between versions (a mutex, flags, fast bins); but
// arenas link to each other by their start addresses.
std::optional<uint64_t> begin_of_arena(const process::ProgramMemory& memory, uint64_t bins, uint64_t next_place) {
  constexpr uint64_t kMaxBefore = 512;
  const uint64_t word = memory.word_bytes();
  const uint64_t next = memory.word(next_place).value_or(0);
  for (uint64_t before = 2 * word; before <= kMaxBefore; before += word) {
    const uint64_t begin = bins - before;
    if (closes_ring(memory, begin, next_place - begin, next)) return begin;
  }
  return std::nullopt;
}

// To the arena's end: binmap, next, next_free, attached_threads, two sizes.
uint64_t bytes_from_bins(const process::ProgramMemory& memory) {
  return (kBinsWords + 5) * memory.word_bytes() + kBinmapBytes;
}

// Calls use(address, head) for each heap that begins in the range.
template <typename Use>
void for_each_heap(process::ProgramMemory& memory, base::AddressRange range, Use use) {
  const uint64_t alignment = arena_alignment(memory);
  const auto aligned = [&](uint64_t address) { return (address + alignment - 1) & ~(alignment - 1); };
  for (uint64_t at = aligned(range.begin); at >= range.begin && at < range.end; at += alignment) {
    // A sanitizer's shadow has millions of such places, nearly all of them in reserved memory.
    const uint64_t next = aligned(memory.skip_untouched(at, range.end));
    if (next < at || next >= range.end) return;
    at = next;
    if (memory.touched_ranges(at, at + base::page_bytes()).empty()) continue;
    if (const auto head = arena_head_at(memory, at)) use(at, *head);
  }
}

void find_arenas(process::ProgramMemory& memory, base::AddressRange range, std::vector<base::AddressRange>& parts) {
  for_each_heap(memory, range, [&](uint64_t at, const ArenaHead& head) {
    parts.push_back({at, std::min(at + std::max(head.size, head.protected_size), range.end)});
  });
}

// The pages of musl's group at the start of a page, if there is one.
std::optional<base::AddressRange> group_at(const process::ProgramMemory& memory, uint64_t address) {
  const uint64_t word = memory.word_bytes();
  const uint64_t meta = memory.word(address).value_or(0);
  if (meta < base::page_bytes() || meta % word != 0) return std::nullopt;
  constexpr uint64_t kMasksBytes = 8;
  constexpr uint64_t kMuslPageBytes = 4096;  // struct meta, maplen: in these on every machine
  const uint64_t bits_place = 3 * word + kMasksBytes;
  if (memory.word(meta + 2 * word) != address) return std::nullopt;
  const uint64_t pages = memory.word(meta + bits_place).value_or(0) >> 12;
  if (pages == 0 || pages > kMaxMainHeapBytes / kMuslPageBytes) return std::nullopt;
  return base::AddressRange{address, address + pages * kMuslPageBytes};
}

void find_groups(process::ProgramMemory& memory, base::AddressRange range, std::vector<base::AddressRange>& groups) {
  uint64_t at = range.begin;
  for (const base::AddressRange& touched : memory.touched_ranges(range.begin, range.end)) {
    for (at = std::max(at, touched.begin); at < std::min(touched.end, range.end);) {
      const auto group = group_at(memory, at);
      if (group) groups.push_back({group->begin, std::min(group->end, range.end)});
      at = group ? groups.back().end : at + base::page_bytes();
    }
  }
}

}  // namespace

std::vector<base::AddressRange> find_main_arenas(const process::ProgramMemory& memory, const elf::ModuleImage& module) {
  const uint64_t word = memory.word_bytes();
  std::vector<base::AddressRange> found;
  for (const base::AddressRange& segment : module.writable) {
    const std::vector<uint64_t> words = memory.words(segment);
    const auto is_empty_bin = [&](size_t i) {
      const uint64_t self = segment.begin + (i - 2) * word;
      return words[i] == self && words[i + 1] == self;
    };
    for (size_t i = kBinsWords; i + 8 < words.size(); ++i) {
      // The last bin is always empty, and nothing after it looks like one.
      if (!is_empty_bin(i - 2) || is_empty_bin(i)) continue;
      const size_t first = i - kBinsWords;
      size_t empty = 0;
      for (size_t bin = 0; bin < kBins; ++bin) empty += is_empty_bin(first + 2 * bin) ? 1 : 0;
      constexpr size_t kEnough = 32;
      if (empty < kEnough) continue;
      const uint64_t bins = segment.begin + first * word;
      const auto begin = begin_of_arena(memory, bins, bins + kBinsWords * word + kBinmapBytes);
      if (begin) found.push_back({*begin, bins + bytes_from_bins(memory)});
    }
  }
  return found;
}

std::vector<ArenaHeap> find_arena_heaps(process::ProgramMemory& memory, base::AddressRange range) {
  const uint64_t alignment = arena_alignment(memory);
  std::vector<ArenaHeap> heaps;
  for_each_heap(memory, range, [&](uint64_t at, const ArenaHead& head) {
    const uint64_t head_bytes = head.arena & (alignment - 1);
    heaps.push_back({{at, std::min(at + head.size, range.end)}, head.arena, head_bytes});
  });
  return heaps;
}

uint64_t bins_of_main_arena(const process::ProgramMemory& memory, base::AddressRange main_arena) {
  return main_arena.end - bytes_from_bins(memory);
}

uint64_t end_of_main_heap(const process::ProgramMemory& memory, base::AddressRange main_arena) {
  const uint64_t word = memory.word_bytes();
  // The last chunk; it reaches to the end. Its address, and the last remainder's, precede the bins.
  const uint64_t bins = bins_of_main_arena(memory, main_arena);
  const uint64_t top = memory.word(bins - 2 * word).value_or(0);
  if (top < base::page_bytes() || main_arena.contains(top)) return 0;  // no memory yet: top is a bin
  const uint64_t size = memory.word(top + word).value_or(0) & ~uint64_t{7};
  const uint64_t end = top + size;
  return size < kMaxMainHeapBytes && base::is_page_aligned(end) ? end : 0;
}

namespace {

constexpr uint64_t kChunkFlags = 7;

// The names that a module imports, and its own, each between zeros. Empty: unknown.
std::string names_of(const process::ProgramMemory& memory, const elf::ModuleImage& module) {
  constexpr uint64_t kMaxDynamic = 4096;
  constexpr uint64_t kMaxBytes = uint64_t{16} << 20;
  const auto form = elf::ElfForm::of_this_machine(memory.word_bytes());
  const elf::DynamicSection dynamic(memory, form, module.dynamic, kMaxDynamic, module.bias, {});
  uint64_t table = dynamic.value(DT_STRTAB).value_or(0);
  const uint64_t bytes = dynamic.value(DT_STRSZ).value_or(0);
  if (table == 0 || bytes == 0 || bytes > kMaxBytes) return {};
  if (table < module.bias) table += module.bias;  // some loaders relocate it in place
  std::string names(static_cast<size_t>(bytes), '\0');
  names.resize(memory.read_some(table, names.data(), names.size()));
  return names;
}

bool is_c_library(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with("libc.so") || name.starts_with("libc-") || name.starts_with("ld-") ||
         name.starts_with("ld.so");
}

// Follows chunks.
class ChunkWalk {
 public:
  ChunkWalk(const process::ProgramMemory& memory, uint64_t top, uint64_t end)
      : memory_(memory), word_(memory.word_bytes()), top_(top), end_(end) {}

  // From the chunk at `at` to the arena's last one, or to the two small ones at the end of a full heap; 0: neither is
  // reached.
  uint64_t end_of_part(uint64_t at) {
    const uint64_t head = 2 * word_;
    while (at < end_) {
      const uint64_t size_word = word(at + word_);
      const uint64_t bytes = size_word & ~kChunkFlags;
      if (at == top_) return at + bytes;
      if (bytes == head && (word(at + head + word_) & ~kChunkFlags) == head) return at + 2 * head;
      constexpr uint64_t kOfOthers = 6;  // mapped for itself, or of another arena
      if (bytes < 2 * head || bytes % head != 0 || bytes > end_ - at || (size_word & kOfOthers) != 0) return 0;
      at += bytes;
    }
    return 0;
  }

 private:
  // 0 also if it can't be read.
  uint64_t word(uint64_t address) {
    constexpr uint64_t kPieceBytes = uint64_t{256} << 10;
    if (address < begin_ || address - begin_ >= piece_.size() * word_) {
      begin_ = address;
      piece_ = memory_.words({address, std::min(address + kPieceBytes, end_)});
      if (piece_.empty()) return 0;
    }
    return piece_[static_cast<size_t>((address - begin_) / word_)];
  }

  const process::ProgramMemory& memory_;
  const uint64_t word_;
  const uint64_t top_;
  const uint64_t end_;
  uint64_t begin_ = 0;
  std::vector<uint64_t> piece_;
};

}  // namespace

bool has_c_library(std::span<const elf::ModuleImage> modules) {
  return std::ranges::any_of(modules, [](const elf::ModuleImage& module) { return is_c_library(module.path); });
}

bool may_call(const process::ProgramMemory& memory, std::span<const elf::ModuleImage> modules,
              std::span<const std::string_view> functions) {
  if (!has_c_library(modules)) return true;
  return std::ranges::any_of(modules, [&](const elf::ModuleImage& module) {
    if (is_c_library(module.path)) return false;
    const std::string names = names_of(memory, module);
    return std::ranges::any_of(functions, [&](std::string_view name) { return names.find(name) != names.npos; });
  });
}

bool may_share_break(const process::ProgramMemory& memory, std::span<const elf::ModuleImage> modules) {
  constexpr std::string_view kFunctions[] = {{"\0sbrk\0", 6}, {"\0brk\0", 5}};
  return may_call(memory, modules, kFunctions);
}

std::vector<base::AddressRange> main_heap_parts(const process::ProgramMemory& memory, base::AddressRange main_arena,
                                                base::AddressRange heap, std::span<const base::AddressRange> blocks) {
  constexpr uint64_t kAlignment = 16;
  const uint64_t word = memory.word_bytes();
  const uint64_t head = 2 * word;
  const uint64_t top = memory.word(bins_of_main_arena(memory, main_arena) - 2 * word).value_or(0);
  ChunkWalk walk(memory, top, heap.end);
  std::vector<base::AddressRange> parts;
  constexpr size_t kMaxFailures = 256;
  size_t failures = 0;
  // The chunk of a block is known to be one; free chunks before it are only found by walking.
  const auto try_up_to = [&](uint64_t known) {
    constexpr uint64_t kMaxBefore = uint64_t{256} << 10;
    uint64_t at = parts.empty() ? ((heap.begin + head + kAlignment - 1) & ~(kAlignment - 1)) - head : parts.back().end;
    if (known < at || failures > kMaxFailures) return;
    if (known - at > kMaxBefore) at = known - (kMaxBefore & ~(kAlignment - 1));
    for (; at <= known; at += kAlignment) {
      const uint64_t end = walk.end_of_part(at);
      if (end == 0) continue;
      parts.push_back({at, end});
      if (end > known) return;
      at = end - kAlignment;
    }
    ++failures;
  };
  auto block = std::ranges::lower_bound(blocks, heap.begin, {}, &base::AddressRange::begin);
  for (; block != blocks.end() && block->begin < heap.end; ++block) try_up_to(block->begin - head);
  if (parts.empty() || parts.back().end < top) try_up_to(top);
  return parts;
}

std::optional<base::AddressRange> memory_of_mapped_block(const process::ProgramMemory& memory, uint64_t block) {
  constexpr uint64_t kIsMapped = 2;
  const uint64_t chunk = block - uint64_t{2} * memory.word_bytes();
  const auto head = memory.words({chunk, block});  // offset, size
  if (head.size() < 2 || (head[1] & 7) != kIsMapped) return std::nullopt;
  const uint64_t size = head[1] & ~uint64_t{7};
  const uint64_t begin = chunk - head[0];
  if (!base::is_page_aligned(begin) || !base::is_page_aligned(head[0] + size) || size == 0) return std::nullopt;
  return base::AddressRange{begin, chunk + size};
}

std::vector<base::AddressRange> find_heap_parts(process::ProgramMemory& memory, const process::Mapping& mapping,
                                                std::span<const base::AddressRange> heap, bool musl) {
  if (mapping.is_kernels("[heap]")) return {mapping.range};
  std::vector<base::AddressRange> shared;  // found from many blocks, ascending
  if (musl) {
    find_groups(memory, mapping.range, shared);
  } else {
    find_arenas(memory, mapping.range, shared);
  }
  std::vector<base::AddressRange> parts = shared;
  auto block = std::ranges::upper_bound(heap, mapping.range.begin, {}, &base::AddressRange::end);
  while (block != heap.end() && block->begin < mapping.range.end) {
    if (const base::AddressRange* const around = base::range_at(shared, block->begin)) {
      block = std::ranges::lower_bound(block, heap.end(), around->end, {}, &base::AddressRange::begin);
      continue;
    }
    const auto own = memory_of_mapped_block(memory, block->begin);
    if (!own) return {mapping.range};  // of an unknown allocator
    parts.push_back(*own);
    ++block;
  }
  return parts;
}

}  // namespace heaptap::scan
