#include "target/allocator_memory.h"

#include <algorithm>

namespace heaptap::target {
namespace {

constexpr uint64_t kArenaAlignment = uint64_t{64} << 20;
constexpr uint64_t kPageBytes = 4096;
constexpr uint64_t kMostMainHeapBytes = uint64_t{1} << 46;
constexpr uint64_t kBins = 127;
constexpr uint64_t kBinsBytes = kBins * 16;
constexpr uint64_t kBeforeBins = 112;      // lock, flags, fastbins, top, last_remainder
constexpr uint64_t kBinmapBytes = 16;      // then the next arena
constexpr uint64_t kBehindBins = 16 + 40;  // binmap, next, next_free, attached_threads, two sizes

struct ArenaHead {
  uint64_t arena;
  uint64_t previous;
  uint64_t size;
  uint64_t protected_size;
};

// The head of the heap at this address, if it is one: its arena begins in a heap that says the same.
std::optional<ArenaHead> arena_head_at(const ProcessMemory& memory, uint64_t address) {
  const auto head = memory.value<ArenaHead>(address);
  if (!head || head->arena % 16 != 0 || head->size > kArenaAlignment || head->protected_size > kArenaAlignment ||
      head->size == 0 || head->size % kPageBytes != 0 || head->protected_size < head->size) {
    return std::nullopt;
  }
  const uint64_t first = head->arena & ~(kArenaAlignment - 1);
  constexpr uint64_t kLargestHead = 64;
  if (head->arena - first < sizeof(ArenaHead) || head->arena - first > kLargestHead) return std::nullopt;
  if (memory.value<uint64_t>(first) != head->arena) return std::nullopt;
  return head;
}

bool is_arena(const ProcessMemory& memory, uint64_t address) {
  return memory.value<uint64_t>(address & ~(kArenaAlignment - 1)) == address;
}

void find_arenas(ProcessMemory& memory, AddressRange range, std::vector<AddressRange>& parts) {
  uint64_t at = (range.begin + kArenaAlignment - 1) & ~(kArenaAlignment - 1);
  for (; at >= range.begin && at < range.end; at += kArenaAlignment) {
    if (memory.touched_ranges(at, at + kPageBytes).empty()) continue;
    const auto head = arena_head_at(memory, at);
    if (head) parts.push_back({at, std::min(at + std::max(head->size, head->protected_size), range.end)});
  }
}

// The memory of a block that glibc mapped for it alone.
std::optional<AddressRange> own_memory_of_block(const ProcessMemory& memory, uint64_t block) {
  struct Head {
    uint64_t offset;
    uint64_t size;
  };
  constexpr uint64_t kIsMapped = 2;
  const auto head = memory.value<Head>(block - sizeof(Head));
  if (!head || (head->size & 7) != kIsMapped) return std::nullopt;
  const uint64_t size = head->size & ~uint64_t{7};
  const uint64_t begin = block - sizeof(Head) - head->offset;
  if (begin % kPageBytes != 0 || (head->offset + size) % kPageBytes != 0 || size == 0) return std::nullopt;
  return AddressRange{begin, block - sizeof(Head) + size};
}

}  // namespace

std::vector<AddressRange> find_main_arenas(const ProcessMemory& memory, const ModuleImage& module) {
  std::vector<AddressRange> found;
  for (const AddressRange& segment : module.writable) {
    const std::vector<uint64_t> words = memory.words(segment);
    const auto is_empty_bin = [&](size_t i) {
      const uint64_t self = segment.begin + i * 8 - 16;
      return words[i] == self && words[i + 1] == self;
    };
    size_t run = 0;  // of empty bins that end here, where few others lie between them
    for (size_t i = kBinsBytes / 8; i + 8 < words.size(); ++i) {
      // The last bin is always empty, and nothing behind it looks like one.
      if (!is_empty_bin(i - 2) || is_empty_bin(i)) continue;
      const size_t first = i - kBinsBytes / 8;
      run = 0;
      for (size_t bin = 0; bin < kBins; ++bin) run += is_empty_bin(first + 2 * bin) ? 1 : 0;
      constexpr size_t kEnough = 32;
      if (run < kEnough) continue;
      const uint64_t bins = segment.begin + first * 8;
      const uint64_t next = words[i + kBinmapBytes / 8];
      if (next != bins - kBeforeBins && next != bins - kBeforeBins + 8 && !is_arena(memory, next)) continue;
      found.push_back({bins - kBeforeBins, bins + kBinsBytes + kBehindBins});
    }
  }
  return found;
}

uint64_t end_of_main_heap(const ProcessMemory& memory, AddressRange main_arena) {
  constexpr uint64_t kTop = kBeforeBins - 16;  // the last chunk; it reaches to the end
  const uint64_t top = memory.value<uint64_t>(main_arena.begin + kTop).value_or(0);
  if (top < kPageBytes || main_arena.contains(top)) return 0;  // no memory yet: top is a bin
  const uint64_t size = memory.value<uint64_t>(top + 8).value_or(0) & ~uint64_t{7};
  const uint64_t end = top + size;
  return size < kMostMainHeapBytes && end % kPageBytes == 0 ? end : 0;
}

std::vector<AddressRange> find_heap_parts(ProcessMemory& memory, const Mapping& mapping,
                                          std::span<const AddressRange> heap) {
  if (mapping.is_kernels("[heap]")) return {mapping.range};
  std::vector<AddressRange> parts;
  find_arenas(memory, mapping.range, parts);
  const auto in_arena = [&](uint64_t address) {
    return std::ranges::any_of(parts, [&](const AddressRange& part) { return part.contains(address); });
  };
  auto block = std::ranges::upper_bound(heap, mapping.range.begin, {}, &AddressRange::end);
  for (; block != heap.end() && block->begin < mapping.range.end; ++block) {
    if (in_arena(block->begin)) {
      // The next one outside of it.
      const auto part = std::ranges::find_if(parts, [&](const AddressRange& p) { return p.contains(block->begin); });
      block = std::prev(std::ranges::upper_bound(block, heap.end(), part->end - 1, {}, &AddressRange::begin));
      continue;
    }
    const auto own = own_memory_of_block(memory, block->begin);
    if (!own) return {mapping.range};  // of an allocator that isn't glibc's
    parts.push_back(*own);
  }
  return parts;
}

}  // namespace heaptap::target
