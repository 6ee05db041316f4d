// A table in shared memory that threads fill while more of it becomes usable.
#include "agent/core/growing_part.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <vector>

#include "agent/core/stack_trie.h"
#include "at_once.h"
#include "common/base/pages.h"
#include "common/base/unique_fd.h"

namespace heaptap::agent {
namespace {

constexpr uint32_t kThreads = 4;
constexpr uint32_t kItemBytes = sizeof(wire::StackNode);

// Memory of so many items, of which the first ones are mapped here.
class SharedItems {
 public:
  SharedItems(uint32_t mapped, uint32_t count) : mapped_bytes_(size_t{mapped} * kItemBytes) {
    const base::UniqueFd memory(memfd_create("growing", MFD_CLOEXEC));
    EXPECT_EQ(ftruncate(memory.get(), static_cast<off_t>(size_t{count} * kItemBytes)), 0);
    items_ = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
    EXPECT_NE(items_, MAP_FAILED);
  }
  ~SharedItems() { munmap(items_, mapped_bytes_); }
  SharedItems(const SharedItems&) = delete;
  SharedItems& operator=(const SharedItems&) = delete;
  [[nodiscard]] wire::StackNode* items() const { return static_cast<wire::StackNode*>(items_); }

 private:
  size_t mapped_bytes_;
  void* items_ = nullptr;
};

void unmap(MappedPart part) {
  if (part.start != nullptr) munmap(part.start, part.bytes);
}

class GrowingPartTest : public ::testing::Test {
 protected:
  const uint32_t page_items_ = static_cast<uint32_t>(base::page_bytes()) / kItemBytes;
};

TEST_F(GrowingPartTest, MapsWhatMayBeUsedAndNoMore) {
  const SharedItems shared(page_items_, 8 * page_items_);
  GrowingPart part;
  part.start(shared.items(), page_items_, 8 * page_items_, kItemBytes);
  std::atomic<uint32_t> usable{page_items_};
  EXPECT_TRUE(part.gets(page_items_ - 1, usable));
  EXPECT_FALSE(part.gets(page_items_, usable));
  EXPECT_EQ(part.growth().start, nullptr);
  shared.items()[3].store(77);
  usable = 4 * page_items_;
  EXPECT_TRUE(part.gets(page_items_, usable));
  EXPECT_EQ(part.count(), 4 * page_items_);
  EXPECT_EQ(part.growth().start, part.items());
  auto* const longer = reinterpret_cast<wire::StackNode*>(part.items());
  EXPECT_EQ(longer[3].load(), 77u) << "the same pages";
  longer[4].store(78);
  EXPECT_EQ(shared.items()[4].load(), 78u);
  EXPECT_FALSE(part.gets(4 * page_items_, usable));
  usable = UINT32_MAX;
  EXPECT_TRUE(part.gets(4 * page_items_, usable));
  EXPECT_EQ(part.count(), 8 * page_items_) << "no more than there is";
  EXPECT_FALSE(part.gets(8 * page_items_, usable));
  munmap(longer, size_t{4} * page_items_ * kItemBytes);
  unmap(part.growth());
}

// Each stack is made by two threads, and by each after it has met others that were made in the meantime.
TEST_F(GrowingPartTest, AStackIsWhatItWasWhileItGrows) {
  const uint32_t start = 4 * page_items_;
  const uint32_t most = 64 * page_items_;  // room for duplicates of what threads make at the same moment
  const SharedItems shared(start, most);
  const auto log = std::make_unique<wire::LogHeader>();
  log->node_count.store(wire::kRootCount);
  log->usable_nodes.store(start);
  StackTrie trie;
  ASSERT_TRUE(trie.start(shared.items(), start, most, log.get()));
  std::atomic<uint32_t> wrong{0};
  std::atomic<uint32_t> cut{0};  // possible while a thread that maps more doesn't run
  const uint32_t stacks = most / kThreads / 2;
  test::run_at_once(kThreads, [&](uint32_t thread) {
    for (uint32_t i = 0; i < stacks; ++i) {
      const uint32_t code = i * kThreads + (thread / 2) * 2;
      uint32_t usable = log->usable_nodes.load();  // the collector's part
      if (log->node_count.load() >= usable / 2) log->usable_nodes.compare_exchange_strong(usable, usable * 2);
      const StackName name = trie.intern(root_name(wire::StackEnd::kComplete), code);
      if (name.node < wire::kRootCount) {
        ++cut;
      } else if (wire::node_code(trie.node(name.node)) != code) {
        ++wrong;
      }
    }
  });
  EXPECT_EQ(wrong.load(), 0u);
  EXPECT_EQ(log->was_without_node.load() != 0, cut.load() != 0) << "and that is said";
  EXPECT_GT(log->rings.load(), 0u) << "the collector is woken in time";
  for (uint32_t code = 0; code < stacks * kThreads; code += 2) {
    const StackName name = trie.intern(root_name(wire::StackEnd::kComplete), code);
    ASSERT_EQ(wire::node_code(trie.node(name.node)), code) << "none is cut for ever";
  }
  unmap(trie.nodes().growth());
}

}  // namespace
}  // namespace heaptap::agent
