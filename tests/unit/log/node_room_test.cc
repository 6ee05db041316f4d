#include "capture/log/node_room.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "capture/log/log_memory.h"
#include "common/base/pages.h"

namespace heaptap::log {
namespace {

class Lender : public ChunkLender {
 public:
  uint64_t lend(uint64_t bytes, bool /*for_threads*/) override { return bytes; }
  void take_back(uint64_t /*bytes*/) override {}
  uint64_t share() override { return 0; }
  uint64_t overdue() override { return 0; }
  void note_lost(uint64_t /*events*/) override {}
  bool permits(uint64_t bytes) override {
    asked = bytes;
    return permitted;
  }

  bool permitted = true;
  uint64_t asked = 0;
};

class NodeRoomTest : public ::testing::Test {
 protected:
  static LogOptions growing() {
    LogOptions options;
    options.max_chunk_memory_bytes = uint64_t{512} << 20;
    return options;
  }
  [[nodiscard]] wire::LogHeader& log() const { return memory_->header(); }
  uint32_t usable_with(uint32_t nodes) {
    log().node_count.store(nodes);
    room_.look(lender_);
    EXPECT_EQ(log().usable_nodes.load(), room_.usable());
    return room_.usable();
  }
  // Nodes from the first on whose pages have memory.
  [[nodiscard]] uint64_t made() const {
    const auto& nodes = memory_->parts().nodes;
    std::vector<unsigned char> resident(nodes.size_bytes() / base::page_bytes());
    void* const start = const_cast<wire::StackNode*>(nodes.data());
    EXPECT_EQ(mincore(start, nodes.size_bytes(), resident.data()), 0);
    const auto none = std::ranges::find_if(resident, [](unsigned char page) { return (page & 1) == 0; });
    return static_cast<uint64_t>(none - resident.begin()) * base::page_bytes() / sizeof(wire::StackNode);
  }

  std::unique_ptr<LogMemory> memory_ = *LogMemory::create(growing());
  const uint32_t start_ = memory_->parts().start_nodes;
  NodeRoom room_{memory_->parts()};
  Lender lender_;
};

TEST_F(NodeRoomTest, MoreAreUsableOnceHalfAreUsed) {
  EXPECT_EQ(usable_with(wire::kRootCount), start_);
  EXPECT_EQ(usable_with(start_ / 2 - 1), start_);
  EXPECT_EQ(lender_.asked, 0u);
  EXPECT_EQ(usable_with(start_ / 2), 2 * start_);
  EXPECT_EQ(lender_.asked, uint64_t{start_} * 16) << "its entry, and the program's index";
  EXPECT_EQ(usable_with(start_ / 2), 2 * start_);
  EXPECT_EQ(usable_with(start_), 4 * start_);
}

TEST_F(NodeRoomTest, NeverMoreThanTheLogHas) {
  const auto most = static_cast<uint32_t>(memory_->parts().nodes.size());
  for (int i = 0; i < 20; ++i) (void)usable_with(room_.usable() / 2 + 1);
  EXPECT_EQ(room_.usable(), most);
}

TEST_F(NodeRoomTest, NotWhereThereIsNoMemory) {
  lender_.permitted = false;
  EXPECT_EQ(usable_with(start_), start_);
  lender_.permitted = true;
  EXPECT_EQ(usable_with(start_), 2 * start_);
}

TEST_F(NodeRoomTest, BelievesItsOwnCopy) {
  log().usable_nodes.store(1);
  EXPECT_EQ(usable_with(UINT32_MAX), 2 * start_);
}

TEST_F(NodeRoomTest, PagesAreThereBeforeTheyAreUsed) {
  constexpr uint32_t kMany = 100'000;
  (void)usable_with(kMany);
  EXPECT_GE(made(), uint64_t{2} * kMany);
  EXPECT_LT(made(), uint64_t{2} * kMany + base::page_bytes());
  (void)usable_with(start_ / 2 + kMany);
  EXPECT_GE(made(), start_ / 2 + kMany + (256u << 10)) << "no more than 2 MiB";
  EXPECT_LT(made(), start_ / 2 + kMany + (256u << 10) + base::page_bytes());
}

}  // namespace
}  // namespace heaptap::log
