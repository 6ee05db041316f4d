// Pages of a log's chunks, also where a page has several chunks.
#include "capture/log/chunk_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <span>
#include <vector>

#include "common/wire/log.h"

namespace heaptap::log {
namespace {

constexpr uint8_t kUsed = 0x5a;
constexpr size_t kLargestPageBytes = 65536;

// Chunks of shared memory, all of them in use, that begin with a page of any size.
class Chunks {
 public:
  explicit Chunks(uint32_t count) : bytes_(size_t{count} * wire::kChunkBytes) {
    mapped_ = mmap(nullptr, bytes_ + kLargestPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const auto start = reinterpret_cast<uintptr_t>(mapped_);
    const uintptr_t aligned = (start + kLargestPageBytes - 1) & ~(uintptr_t{kLargestPageBytes} - 1);
    memory_ = {reinterpret_cast<uint8_t*>(aligned), bytes_};
    std::ranges::fill(memory_, kUsed);
  }
  ~Chunks() { munmap(mapped_, bytes_ + kLargestPageBytes); }
  Chunks(const Chunks&) = delete;
  Chunks& operator=(const Chunks&) = delete;

  [[nodiscard]] std::span<uint8_t> memory() const { return memory_; }
  // Those whose contents are gone as a whole; none may be in parts.
  [[nodiscard]] std::vector<uint32_t> empty() const {
    std::vector<uint32_t> found;
    for (uint32_t chunk = 0; chunk < memory_.size() / wire::kChunkBytes; ++chunk) {
      const auto bytes = memory_.subspan(size_t{chunk} * wire::kChunkBytes, wire::kChunkBytes);
      const auto left = std::ranges::count(bytes, kUsed);
      EXPECT_TRUE(left == 0 || left == wire::kChunkBytes) << "chunk " << chunk;
      if (left == 0) found.push_back(chunk);
    }
    return found;
  }

 private:
  size_t bytes_;
  void* mapped_;
  std::span<uint8_t> memory_;
};

std::vector<uint32_t> emptied_by(std::vector<uint32_t> given_back, uint64_t page_bytes) {
  const Chunks chunks(32);
  ChunkMemory(chunks.memory(), true, page_bytes).give_back(given_back);
  return chunks.empty();
}

using Indices = std::vector<uint32_t>;

TEST(ChunkMemory, GivesBackNoPageThatAChunkInUseSharesWithOthers) {
  EXPECT_EQ(emptied_by({8, 3}, 4096), (Indices{3, 8}));
  EXPECT_EQ(emptied_by({8, 3}, 16384), Indices{});
  EXPECT_EQ(emptied_by({8, 3}, 65536), Indices{});
  EXPECT_EQ(emptied_by({3, 9, 2, 8, 10}, 16384), (Indices{2, 3, 8, 9}));
  EXPECT_EQ(emptied_by({3, 9, 2, 8, 10}, 65536), Indices{});
}

TEST(ChunkMemory, GivesBackWhatWholePagesHave) {
  const Indices eleven{7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 31};
  EXPECT_EQ(emptied_by(eleven, 4096), eleven);
  EXPECT_EQ(emptied_by(eleven, 16384), (Indices{8, 9, 10, 11, 12, 13, 14, 15}));
  EXPECT_EQ(emptied_by(eleven, 65536), (Indices{8, 9, 10, 11, 12, 13, 14, 15}));
}

TEST(ChunkMemory, KeepsFilesAsTheyAre) {
  const Chunks chunks(16);
  Indices all{0, 1, 2, 3, 4, 5, 6, 7};
  ChunkMemory(chunks.memory(), false).give_back(all);
  EXPECT_EQ(chunks.empty(), Indices{});
}

}  // namespace
}  // namespace heaptap::log
