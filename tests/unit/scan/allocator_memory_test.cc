// Where glibc's main arena begins and ends, with as much in front of its bins as versions of it have.
#include "capture/scan/allocator_memory.h"
#include "capture/process/process_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <vector>

namespace heaptap::scan {
namespace {

constexpr size_t kBinsWords = 254;
constexpr size_t kBinmapWords = 2;
constexpr size_t kWordsBehindNext = 5;  // with it: next, next_free, attached_threads, two sizes
constexpr uint64_t kArenaAlignment = uint64_t{64} << 20;

uint64_t address_of(const void* place) { return reinterpret_cast<uintptr_t>(place); }

// The words of an arena whose bins are all empty, with so many words before them.
class Arena {
 public:
  Arena(uint64_t* place, size_t words_before) : place_(place), words_before_(words_before) {
    uint64_t* bins = place + words_before;
    for (size_t i = 0; i < kBinsWords; i += 2) bins[i] = bins[i + 1] = address_of(bins + i - 2);
    bins[-2] = address_of(bins - 2);  // top, before there is memory
    set_next(place);
  }
  void set_next(const uint64_t* next) { place_[words_before_ + kBinsWords + kBinmapWords] = address_of(next); }
  [[nodiscard]] base::AddressRange range() const {
    const size_t words = words_before_ + kBinsWords + kBinmapWords + kWordsBehindNext;
    return {address_of(place_), address_of(place_ + words)};
  }

 private:
  uint64_t* place_;
  size_t words_before_;
};

// A library's data with a main arena in it, and memory for another arena that begins as glibc's do.
struct Data {
  explicit Data(size_t words_before) : words(2048, 0), main(words.data() + 700, words_before) {
    module.writable.push_back({address_of(words.data()), address_of(words.data() + words.size())});
  }
  std::vector<base::AddressRange> find() { return find_main_arenas(process::ProcessMemory(getpid()), module); }

  std::vector<uint64_t> words;
  elf::ModuleImage module;
  Arena main;
};

class HeapMemory {
 public:
  HeapMemory()
      : start_(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  ~HeapMemory() { munmap(start_, kBytes); }
  HeapMemory(const HeapMemory&) = delete;
  HeapMemory& operator=(const HeapMemory&) = delete;

  // heap_info, then the arena.
  uint64_t* place_of_arena() {
    const uint64_t heap = (address_of(start_) + kArenaAlignment - 1) & ~(kArenaAlignment - 1);
    auto* words = reinterpret_cast<uint64_t*>(heap);
    words[0] = address_of(words + 6);
    return words + 6;
  }

 private:
  static constexpr size_t kBytes = 2 * kArenaAlignment;
  void* start_;
};

// 2.28 to 2.41: a mutex, flags, 10 fast bins, top, last_remainder. Then without fast bins, and with others.
class WordsBefore : public testing::TestWithParam<size_t> {};

TEST_P(WordsBefore, OneArenaIsItsOwnNeighbour) {
  Data data(GetParam());
  EXPECT_EQ(data.find(), std::vector{data.main.range()});
}

TEST_P(WordsBefore, ManyArenasAreARing) {
  Data data(GetParam());
  HeapMemory heaps[2];
  Arena first(heaps[0].place_of_arena(), GetParam());
  Arena second(heaps[1].place_of_arena(), GetParam());
  data.main.set_next(heaps[0].place_of_arena());
  first.set_next(heaps[1].place_of_arena());
  second.set_next(data.words.data() + 700);
  EXPECT_EQ(data.find(), std::vector{data.main.range()});
}

TEST_P(WordsBefore, ARingThatIsBrokenIsNone) {
  Data data(GetParam());
  HeapMemory heap;
  Arena other(heap.place_of_arena(), GetParam());
  data.main.set_next(heap.place_of_arena());
  other.set_next(data.words.data() + 3);
  EXPECT_TRUE(data.find().empty());
  other.set_next(heap.place_of_arena());
  EXPECT_TRUE(data.find().empty());
}

TEST_P(WordsBefore, TheHeapEndsWithItsLastChunk) {
  constexpr uint64_t kPageBytes = 4096;
  Data data(GetParam());
  EXPECT_EQ(end_of_main_heap(process::ProcessMemory(getpid()), data.main.range()), 0u) << "no memory yet";
  std::vector<uint64_t> heap(4 * kPageBytes / sizeof(uint64_t), 0);
  const uint64_t end = (address_of(heap.data()) + 3 * kPageBytes) & ~(kPageBytes - 1);
  const uint64_t top = address_of(heap.data() + 10);
  heap[11] = (end - top) | 1;
  data.words[700 + GetParam() - 2] = top;
  // Another view: the first one has kept what it read.
  EXPECT_EQ(end_of_main_heap(process::ProcessMemory(getpid()), data.main.range()), end);
}

INSTANTIATE_TEST_SUITE_P(AllocatorMemory, WordsBefore, testing::Values(14u, 13u, 4u, 3u, 20u));

}  // namespace
}  // namespace heaptap::scan
