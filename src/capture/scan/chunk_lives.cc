#include "capture/scan/chunk_lives.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "capture/elf/elf_headers.h"
#include "capture/scan/allocator_memory.h"
#include "common/base/address_ranges.h"
#include "common/base/pages.h"

namespace heaptap::scan {
namespace {

constexpr uint64_t kWord = sizeof(uint64_t);
constexpr uint64_t kHeadBytes = 2 * kWord;
constexpr uint64_t kAlignment = 16;
constexpr uint64_t kLeastChunk = 32;
constexpr uint64_t kFlags = 7;
constexpr uint64_t kPreviousInUse = 1;
constexpr uint64_t kIsMapped = 2;
constexpr uint64_t kMaxHeapBytes = uint64_t{16} << 30;  // in all, since the target is stopped

// Positions of chunks for threads' caches: counts and lists for 64 sizes, in 2.30 and later, and before.
constexpr unsigned kFastBins = 10;
constexpr size_t kCacheLists = 64;
constexpr uint64_t kCacheChunk = 0x290;
constexpr uint64_t kOldCacheChunk = 0x250;

// The smallest chunk for a request of this size.
constexpr uint64_t chunk_bytes_for(uint64_t bytes) {
  return std::max((bytes + kWord + kAlignment - 1) & ~(kAlignment - 1), kLeastChunk);
}

// A remainder too small for a chunk stays with the previous one; an aligned block may have one on either side.
constexpr bool fits(uint64_t chunk_bytes, uint64_t requested) {
  const uint64_t least = chunk_bytes_for(requested);
  return chunk_bytes >= least && chunk_bytes - least <= kLeastChunk;
}

// Reads sequentially in large pieces.
class Words {
 public:
  explicit Words(const process::ProgramMemory& memory) : memory_(memory) {}

  std::optional<uint64_t> at(uint64_t address) {
    if (address < begin_ || address + kWord > begin_ + bytes_) {
      begin_ = address;
      bytes_ = memory_.read_some(address, piece_.data(), piece_.size());
      if (bytes_ < kWord) return std::nullopt;
    }
    uint64_t word = 0;
    std::memcpy(&word, piece_.data() + (address - begin_), sizeof(word));
    return word;
  }

 private:
  const process::ProgramMemory& memory_;
  std::vector<uint8_t> piece_ = std::vector<uint8_t>(size_t{256} << 10);
  uint64_t begin_ = 0;
  uint64_t bytes_ = 0;
};

// One run of chunks.
struct Heap {
  uint64_t begin = 0;
  uint64_t end = 0;  // of its memory
  uint64_t top =
      0;  // the arena's last chunk, not in use; 0: the heap isn't its arena's last, and ends in a chunk of no size
};

class ChunkLives {
 public:
  explicit ChunkLives(process::ProgramMemory& memory) : memory_(memory) {}

  std::vector<ChunkLife> judge(std::span<const elf::ModuleImage> modules, std::span<const base::AddressRange> blocks) {
    blocks_ = blocks;
    lives_.assign(blocks.size(), ChunkLife::kUnknown);
    if (memory_.word_bytes() != kWord) return std::move(lives_);
    walk_heaps(modules);
    judge_mapped();
    take_out_cached();
    return std::move(lives_);
  }

  ChunksInUse list(std::span<const elf::ModuleImage> modules, size_t max_blocks) {
    if (memory_.word_bytes() != kWord) return {};
    chunks_.emplace();
    max_chunks_ = max_blocks;
    walk_heaps(modules);
    if (!all_walked_ || chunks_->empty()) return {};
    blocks_ = *chunks_;
    lives_.assign(blocks_.size(), ChunkLife::kInUse);
    take_out_cached();
    if (std::ranges::find(lives_, ChunkLife::kUnknown) != lives_.end()) return {};
    ChunksInUse found;
    found.blocks = *std::move(chunks_);
    size_t kept = 0;
    for (size_t i = 0; i < lives_.size(); ++i) {
      if (lives_[i] == ChunkLife::kInUse) found.blocks[kept++] = found.blocks[i];
    }
    found.blocks.resize(kept);
    for (const Heap& heap : heaps_) found.heaps.push_back({heap.begin, end_of(heap)});
    return found;
  }

 private:
  void walk_heaps(std::span<const elf::ModuleImage> modules) {
    find_heaps(modules);
    std::ranges::sort(heaps_, {}, &Heap::begin);
    for (const Heap& heap : heaps_) {
      if (!chunks_ || all_walked_) walk(heap);
    }
  }

  struct Arena {
    uint64_t fast_bins;  // 0: it has none
    uint64_t top;
  };

  void find_heaps(std::span<const elf::ModuleImage> modules) {
    for (const elf::ModuleImage& module : modules) {
      for (const base::AddressRange& range : find_main_arenas(memory_, module)) {
        bins_offset_ = bins_of_main_arena(memory_, range) - range.begin;
        arena_bytes_ = range.end - range.begin;
        add_main_heap(arena_at(range.begin));
      }
    }
    if (arena_bytes_ == 0) return;
    for (const base::AddressRange& memory : joined([](const process::Mapping& mapping) {
           return mapping.writable && !mapping.has_file() && !mapping.shared && !mapping.is_kernels("[heap]");
         })) {
      for (const ArenaHeap& heap : find_arena_heaps(memory_, memory)) add_arena_heap(heap);
    }
    uint64_t bytes = 0;
    for (const Heap& heap : heaps_) bytes += heap.end - heap.begin;
    if (bytes > kMaxHeapBytes) heaps_.clear();
  }

  // struct malloc_state: … ten lists of fast bins (in some versions), top, last_remainder, bins. All arenas have the
  // same layout.
  [[nodiscard]] Arena arena_at(uint64_t address) const {
    const uint64_t top = address + bins_offset_ - 2 * kWord;
    const uint64_t fast_bins = top - address >= kFastBins * kWord ? top - kFastBins * kWord : 0;
    return {fast_bins, memory_.word(top).value_or(0)};
  }

  void add_main_heap(const Arena& arena) {
    for (const base::AddressRange& heap :
         joined([](const process::Mapping& mapping) { return mapping.is_kernels("[heap]"); })) {
      if (!heap.contains(arena.top)) continue;
      arenas_.push_back(arena);
      heaps_.push_back({(heap.begin + kAlignment - 1) & ~(kAlignment - 1), heap.end, arena.top});
    }
  }

  // Mappings of one kind, adjacent ones merged: the kernel splits one that was forked, for instance.
  template <typename Is>
  [[nodiscard]] std::vector<base::AddressRange> joined(Is is) const {
    std::vector<base::AddressRange> ranges;
    for (const process::Mapping& mapping : memory_.map()) {
      if (is(mapping)) base::append_joined(mapping.range, ranges);
    }
    return ranges;
  }

  void add_arena_heap(const ArenaHeap& found) {
    const Arena arena = arena_at(found.arena);
    const bool is_first = found.range.contains(found.arena);
    const uint64_t begin = found.range.begin + found.head_bytes + (is_first ? arena_bytes_ : 0);
    if (is_first) arenas_.push_back(arena);
    heaps_.push_back({(begin + kAlignment - 1) & ~(kAlignment - 1), found.range.end,
                      found.range.contains(arena.top) ? arena.top : 0});
  }

  // Of what is the arena's: behind the last chunk may be memory that the program got by brk.
  [[nodiscard]] uint64_t end_of(const Heap& heap) const {
    if (heap.top == 0) return heap.end;
    return std::min(heap.end, heap.top + (memory_.word(heap.top + kWord).value_or(0) & ~kFlags));
  }

  // Leaves blocks unknown if the chunks don't lead to the heap's end.
  void walk(const Heap& heap) {
    const auto first = std::ranges::lower_bound(blocks_, heap.begin, {}, &base::AddressRange::begin) - blocks_.begin();
    const auto last = std::ranges::lower_bound(blocks_, heap.end, {}, &base::AddressRange::begin) - blocks_.begin();
    found_.assign(static_cast<size_t>(last - first), ChunkLife::kFree);
    const size_t caches_before = caches_.size();
    const size_t chunks_before = chunks_ ? chunks_->size() : 0;
    if (walk_chunks(heap, static_cast<size_t>(first))) {
      std::ranges::copy(found_, lives_.begin() + first);
      walked_.push_back({heap.begin, heap.end});
    } else {
      caches_.resize(caches_before);
      if (chunks_) chunks_->resize(chunks_before);
      all_walked_ = false;
    }
  }

  // Notes in found_ which of the heap's blocks, from `next` on, are chunks in use. False: the chunks are inconsistent.
  bool walk_chunks(const Heap& heap, size_t next) {
    const size_t first = next;
    Words words(memory_);
    const uint64_t end = heap.top != 0 ? heap.top : heap.end;
    for (uint64_t chunk = heap.begin; chunk != end;) {
      const auto size_word = words.at(chunk + kWord);
      if (!size_word) return false;
      const uint64_t bytes = *size_word & ~kFlags;
      if (heap.top == 0 && bytes == 0 && heap.end - chunk <= kLeastChunk) return true;  // the end of a full heap
      // (A full heap's last chunk but one has no room for a block.)
      const bool is_rest = heap.top == 0 && bytes == kHeadBytes;
      if ((bytes < kLeastChunk && !is_rest) || bytes % kAlignment != 0 || bytes > end - chunk ||
          (*size_word & kIsMapped) != 0) {
        return false;
      }
      const auto behind = words.at(chunk + bytes + kWord);
      if (!behind) return false;
      ++chunks_walked_;
      const uint64_t block = chunk + kHeadBytes;
      const bool in_use = (*behind & kPreviousInUse) != 0;
      if (in_use && (bytes == kCacheChunk || bytes == kOldCacheChunk)) caches_.push_back(block);
      if (chunks_ && in_use && !is_rest) chunks_->push_back({block, chunk + bytes + kWord});
      if (chunks_ && chunks_->size() > max_chunks_) return false;
      while (next - first < found_.size() && blocks_[next].begin < block) ++next;
      if (next - first < found_.size() && blocks_[next].begin == block && in_use && fits(bytes, blocks_[next].size())) {
        found_[next - first] = ChunkLife::kInUse;
      }
      chunk += bytes;
    }
    return true;
  }

  [[nodiscard]] bool is_walked(uint64_t address) const { return base::lies_in(address, walked_); }
  [[nodiscard]] bool is_in_heap(uint64_t address) const {
    const auto behind = std::ranges::upper_bound(heaps_, address, {}, &Heap::begin);
    return behind != heaps_.begin() && address < std::prev(behind)->end;
  }

  // Blocks with their own mapping.
  void judge_mapped() {
    for (size_t i = 0; i < blocks_.size(); ++i) {
      if (is_in_heap(blocks_[i].begin)) continue;
      const auto head = memory_.words({blocks_[i].begin - kHeadBytes, blocks_[i].begin});
      if (head.size() < 2) {
        // Its memory is unmapped; or it is of an allocator without headers.
        if (!memory_.word(blocks_[i].begin)) lives_[i] = ChunkLife::kFree;
        continue;
      }
      const uint64_t chunk = blocks_[i].begin - kHeadBytes;
      const uint64_t bytes = head[1] & ~kFlags;
      if ((head[1] & kFlags) != kIsMapped || !base::is_page_aligned(chunk - head[0]) ||
          !base::is_page_aligned(head[0] + bytes))
        continue;
      const uint64_t least = blocks_[i].size() + kHeadBytes;
      if (bytes >= least && bytes - least < 2 * base::page_bytes()) lives_[i] = ChunkLife::kInUse;
    }
  }

  void take_out_cached() {
    bool sound = all_walked_;
    for (const Arena& arena : arenas_) {
      if (arena.fast_bins == 0) continue;
      for (const uint64_t list : memory_.words({arena.fast_bins, arena.fast_bins + kFastBins * kWord})) {
        sound = (list == 0 || take_out_list(list + kHeadBytes, kHeadBytes, chunks_walked_)) && sound;
      }
    }
    bool any = false;
    for (const uint64_t cache : caches_) any = take_out_cache(cache) || any;
    // Without any entry in the caches their position can't be verified.
    if (!sound || !any || is_too_long_) std::ranges::replace(lives_, ChunkLife::kInUse, ChunkLife::kUnknown);
    take_out_marked();
  }

  // Cached chunks are marked in their second word: with the cache's address, or (from 2.34 on) with a random number of
  // the process. So a stale entry does no harm.
  void take_out_marked() {
    Words words(memory_);
    for (size_t i = 0; i < blocks_.size(); ++i) {
      if (lives_[i] != ChunkLife::kInUse || !is_walked(blocks_[i].begin)) continue;
      const auto mark = words.at(blocks_[i].begin + kWord);
      if (mark && *mark != 0 && std::ranges::find(marks_, *mark) != marks_.end()) lives_[i] = ChunkLife::kFree;
    }
  }

  // A list links its entries by their first words: plain, or XORed with the address's page number (from 2.32 on). They
  // point to blocks, or `before` bytes before them; at most `most` entries. False: not a list.
  bool take_out_list(uint64_t first, uint64_t before, uint64_t most) {
    for (const bool is_mixed : {true, false}) {
      std::vector<uint64_t> entries;
      if (!follow({first, before, most}, is_mixed, entries)) continue;
      for (const uint64_t entry : entries) {
        const auto block = std::ranges::lower_bound(blocks_, entry, {}, &base::AddressRange::begin);
        if (block != blocks_.end() && block->begin == entry) {
          lives_[static_cast<size_t>(block - blocks_.begin())] = ChunkLife::kFree;
        }
      }
      return true;
    }
    return false;
  }

  struct List {
    uint64_t first;
    uint64_t before;  // links point this far before the next entry
    uint64_t most;    // entries
  };

  bool follow(const List& list, bool is_mixed, std::vector<uint64_t>& entries) {
    for (uint64_t at = list.first; at != 0;) {
      if (at % kAlignment != 0 || !is_walked(at)) return false;
      is_too_long_ = is_too_long_ || steps_left_ == 0 || entries.size() == list.most;
      if (is_too_long_) return false;
      --steps_left_;
      entries.push_back(at);
      const auto word = memory_.word(at);
      if (!word) return false;
      const uint64_t next = is_mixed ? *word ^ at >> 12 : *word;
      at = next == 0 ? 0 : next + list.before;
    }
    return true;
  }

  // False: missing or empty.
  bool take_out_cache(uint64_t cache) {
    std::array<uint8_t, kCacheChunk - kHeadBytes> bytes{};
    const uint64_t chunk = memory_.word(cache - kWord).value_or(0) & ~kFlags;
    const bool is_old = chunk == kOldCacheChunk;
    const size_t wanted = is_old ? kOldCacheChunk - kHeadBytes : bytes.size();
    if (memory_.read_some(cache, bytes.data(), wanted) != wanted) return false;
    std::array<uint64_t, kCacheLists> lists{};
    const unsigned count_bytes = is_old ? 1 : 2;
    std::memcpy(lists.data(), bytes.data() + kCacheLists * count_bytes, sizeof(lists));
    bool any = false;
    for (size_t i = 0; i < kCacheLists; ++i) {
      const auto count = std::span(bytes).subspan(i * count_bytes, count_bytes);
      const bool is_empty = std::ranges::all_of(count, [](uint8_t byte) { return byte == 0; });
      if (is_empty != (lists[i] == 0)) return false;
      if (lists[i] != 0 && (lists[i] % kAlignment != 0 || !is_walked(lists[i]))) return false;
      any = any || lists[i] != 0;
    }
    for (size_t i = 0; i < kCacheLists; ++i) {
      const uint64_t count = elf::ElfForm::of_this_machine(kWord).number(bytes.data() + i * count_bytes, count_bytes);
      // A thread stopped in the middle of a change may have one entry more than its count.
      any = (lists[i] == 0 || take_out_list(lists[i], 0, count + 1)) && any;
    }
    const auto first = std::ranges::find_if(lists, [](uint64_t list) { return list != 0; });
    const uint64_t mark = any ? memory_.word(*first + kWord).value_or(0) : 0;
    if (any && std::ranges::find(marks_, mark) == marks_.end()) marks_.push_back(mark);
    return any;
  }

  process::ProgramMemory& memory_;
  std::span<const base::AddressRange> blocks_;
  uint64_t bins_offset_ = 0;                               // of an arena
  uint64_t arena_bytes_ = 0;                               // 0: no main arena was found
  std::optional<std::vector<base::AddressRange>> chunks_;  // those in use, where they are wanted; ascending
  size_t max_chunks_ = 0;
  std::vector<ChunkLife> lives_;
  std::vector<ChunkLife> found_;  // of the heap at work
  std::vector<Heap> heaps_;       // ascending
  std::vector<base::AddressRange> walked_;
  bool all_walked_ = true;
  uint64_t chunks_walked_ = 0;
  uint64_t steps_left_ = uint64_t{4} << 20;  // along all lists: the target is stopped meanwhile
  bool is_too_long_ = false;                 // a list is longer than possible, or all of them are
  std::vector<Arena> arenas_;
  std::vector<uint64_t> marks_;   // of blocks in caches
  std::vector<uint64_t> caches_;  // possible starts of a thread's chunks
};

}  // namespace

std::vector<ChunkLife> find_chunk_lives(process::ProgramMemory& memory, std::span<const elf::ModuleImage> modules,
                                        std::span<const base::AddressRange> blocks) {
  return ChunkLives(memory).judge(modules, blocks);
}

ChunksInUse find_chunks_in_use(process::ProgramMemory& memory, std::span<const elf::ModuleImage> modules,
                               size_t max_blocks) {
  return ChunkLives(memory).list(modules, max_blocks);
}

}  // namespace heaptap::scan
