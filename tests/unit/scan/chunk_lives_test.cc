// What the allocator of a real process says of blocks: a child allocates and releases, in one arena and in many, and the test
// asks for each block.
#include "capture/scan/chunk_lives.h"
#include "capture/process/process_memory.h"

#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <ranges>
#include <thread>

#include "capture/elf/module_image.h"
#include "capture/process/stopped_process.h"
#include "child_process.h"

namespace heaptap::scan {
namespace {

using test::ChildProcess;

constexpr size_t kBlocks = 2000;
// Blocks so large may have pages of their own, which their release gives back to the kernel.
constexpr size_t kMappedBytes = 200'000;

struct Told {
  uint64_t address[kBlocks];
  uint64_t size_bytes[kBlocks];
  bool released[kBlocks];
};

Told& shared_told() {
  return *static_cast<Told*>(mmap(nullptr, sizeof(Told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
}

[[noreturn]] void wait_forever() {
  for (;;) pause();
}

// Allocates and releases blocks of all sizes by several functions, and tells of the share `part` of `parts`.
void use_heap(Told& told, size_t part, size_t parts) {
  std::mt19937 random(static_cast<unsigned>(7 + part));
  std::vector<void*> blocks;
  const size_t begin = kBlocks / parts * part;
  const size_t end = kBlocks / parts * (part + 1);
  for (size_t i = begin; i < end; ++i) {
    const size_t size = random() % 4 == 0 ? random() % 5000 : random() % 200;
    void* block = random() % 8 == 0 ? memalign(64, size) : random() % 2 == 0 ? malloc(size) : calloc(1, size);
    if (random() % 300 == 0) {
      free(block);
      block = malloc(kMappedBytes + size);
      told.size_bytes[i] = kMappedBytes + size;
    } else {
      told.size_bytes[i] = size;
    }
    told.address[i] = reinterpret_cast<uint64_t>(block);
    blocks.push_back(block);
  }
  for (size_t i = begin; i < end; ++i) {
    if (random() % 3 == 0) continue;
    free(blocks[i - begin]);
    told.released[i] = true;
  }
}

struct Seen {
  size_t in_use = 0;
  size_t released_in_use = 0;
  size_t live_free = 0;
  size_t unknown = 0;
  // In the list of all that is in use, which has those of the C library, too.
  bool is_listed = false;
  size_t live_not_listed = 0;
  size_t released_listed = 0;
};

// What is found of the told blocks. A released block's address may be another's by now: then it counts as that one. Where its pages went
// back to the kernel there is no chunk to be found, and anything else may be there: a thread's heap, a stack.
Seen look_at(pid_t process, const Told& told) {
  auto stopped = process::StoppedProcess::stop(process).value();
  process::ProcessMemory memory(stopped.live_thread());
  const auto modules = elf::find_modules(memory);
  std::vector<size_t> order;
  for (size_t i = 0; i < kBlocks; ++i) {
    const bool may_be_unmapped = told.released[i] && told.size_bytes[i] >= kMappedBytes;
    if (told.address[i] != 0 && !may_be_unmapped) order.push_back(i);
  }
  std::ranges::sort(order, {}, [&](size_t i) { return told.address[i]; });
  std::vector<base::AddressRange> blocks;
  for (const size_t i : order) blocks.push_back({told.address[i], told.address[i] + told.size_bytes[i]});
  const auto lives = find_chunk_lives(memory, modules, blocks);
  Seen seen;
  for (size_t i = 0; i < lives.size(); ++i) {
    const bool released = told.released[order[i]];
    seen.unknown += lives[i] == ChunkLife::kUnknown ? 1 : 0;
    seen.in_use += lives[i] == ChunkLife::kInUse ? 1 : 0;
    seen.released_in_use += released && lives[i] == ChunkLife::kInUse ? 1 : 0;
    seen.live_free += !released && lives[i] == ChunkLife::kFree ? 1 : 0;
  }
  const ChunksInUse listed = find_chunks_in_use(memory, modules, 1'000'000);
  seen.is_listed = !listed.heaps.empty();
  for (size_t i = 0; i < blocks.size() && seen.is_listed; ++i) {
    if (told.size_bytes[order[i]] >= kMappedBytes) continue;  // which have memory of their own
    const auto found = std::ranges::lower_bound(listed.blocks, blocks[i].begin, {}, &base::AddressRange::begin);
    const bool is_there =
        found != listed.blocks.end() && found->begin == blocks[i].begin && found->end >= blocks[i].end;
    const bool is_anothers = std::ranges::any_of(std::views::iota(size_t{0}, blocks.size()), [&](size_t other) {
      return !told.released[order[other]] && blocks[other].begin == blocks[i].begin;
    });
    seen.live_not_listed += !told.released[order[i]] && !is_there ? 1 : 0;
    seen.released_listed += told.released[order[i]] && is_there && !is_anothers ? 1 : 0;
  }
  return seen;
}

class ChunkLives : public testing::Test {
  void SetUp() override {
    if (test::kChildIsSanitized) GTEST_SKIP() << "a sanitizer's allocator is in the place of glibc's";
  }
};

TEST_F(ChunkLives, AreKnownInTheMainArena) {
  Told& told = shared_told();
  const ChildProcess child([&](int out) {
    use_heap(told, 0, 1);
    [[maybe_unused]] const ssize_t sent = write(out, "x", 1);
    wait_forever();
  });
  char ready = 0;
  ASSERT_TRUE(child.receive(ready));
  test::wait_for_state(child.id(), "S");
  const Seen seen = look_at(child.id(), told);
  EXPECT_EQ(seen.unknown, 0u);
  EXPECT_EQ(seen.released_in_use, 0u) << "it would be called lost";
  EXPECT_EQ(seen.live_free, 0u) << "it would not be called lost";
  EXPECT_GT(seen.in_use, kBlocks / 5);
  EXPECT_TRUE(seen.is_listed);
  EXPECT_EQ(seen.live_not_listed, 0u) << "words in it would not count as pointers";
  EXPECT_EQ(seen.released_listed, 0u) << "it would be called lost";
  munmap(&told, sizeof(told));
}

TEST_F(ChunkLives, AreKnownInTheArenasOfThreads) {
  static constexpr size_t kThreads = 8;
  Told& told = shared_told();
  const ChildProcess child([&](int out) {
    std::vector<std::thread> threads;
    for (size_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&told, i, out] {
        use_heap(told, i, kThreads);
        [[maybe_unused]] const ssize_t sent = write(out, "x", 1);
        wait_forever();
      });
    }
    wait_forever();
  });
  for (size_t i = 0; i < kThreads; ++i) {
    char ready = 0;
    ASSERT_TRUE(child.receive(ready));
  }
  const Seen seen = look_at(child.id(), told);
  EXPECT_EQ(seen.unknown, 0u);
  EXPECT_EQ(seen.released_in_use, 0u);
  EXPECT_EQ(seen.live_free, 0u);
  EXPECT_GT(seen.in_use, kBlocks / 5);
  EXPECT_TRUE(seen.is_listed);
  EXPECT_EQ(seen.live_not_listed, 0u) << "words in it would not count as pointers";
  EXPECT_EQ(seen.released_listed, 0u) << "it would be called lost";
  munmap(&told, sizeof(told));
}

TEST_F(ChunkLives, AreNotConcludedFromAHeapThatMakesNoSense) {
  Told& told = shared_told();
  const ChildProcess child([&](int out) {
    use_heap(told, 0, 1);
    const auto live = static_cast<size_t>(std::ranges::find(told.released, false) - told.released);
    // As if the program had written in front of a block.
    reinterpret_cast<uint64_t*>(told.address[live])[-1] = 0x1234567;
    [[maybe_unused]] const ssize_t sent = write(out, "x", 1);
    wait_forever();
  });
  char ready = 0;
  ASSERT_TRUE(child.receive(ready));
  test::wait_for_state(child.id(), "S");
  const Seen seen = look_at(child.id(), told);
  EXPECT_EQ(seen.in_use, 0u);
  EXPECT_FALSE(seen.is_listed);
  EXPECT_GT(seen.unknown, kBlocks / 5);
  munmap(&told, sizeof(told));
}

TEST_F(ChunkLives, AreNotConcludedFromAListThatLeadsIntoItself) {
  Told& told = shared_told();
  const ChildProcess child([&](int out) {
    use_heap(told, 0, 1);
    // As if the program had written behind a release: what the next block of a list is, is the block itself.
    for (size_t i = 0; i < kBlocks; ++i) {
      const bool is_in_list = told.released[i] && told.size_bytes[i] < 1000;
      if (is_in_list) *reinterpret_cast<uint64_t*>(told.address[i]) = told.address[i] ^ told.address[i] >> 12;
    }
    [[maybe_unused]] const ssize_t sent = write(out, "x", 1);
    wait_forever();
  });
  char ready = 0;
  ASSERT_TRUE(child.receive(ready));
  test::wait_for_state(child.id(), "S");
  const Seen seen = look_at(child.id(), told);
  EXPECT_EQ(seen.in_use, 0u);
  EXPECT_FALSE(seen.is_listed);
  EXPECT_EQ(seen.live_free, 0u);
  EXPECT_GT(seen.unknown, kBlocks / 5);
  munmap(&told, sizeof(told));
}

}  // namespace
}  // namespace heaptap::scan
