#include "analysis/report/chosen_memory.h"

#include <gtest/gtest.h>

namespace heaptap::report {
namespace {

// 7 bytes in a block; 100 mapped bytes, of which 40 are only reserved.
Report mapper() {
  Report report;
  report.totals.peak_live_bytes = 7;
  report.leaks.scanned = true;
  StackEntry& block = report.stacks.emplace_back();
  block.function = "malloc";
  block.live_bytes = block.allocated_bytes = block.peak_bytes = 7;
  StackEntry& mapping = report.stacks.emplace_back();
  mapping.function = "mmap";
  mapping.mapping = true;
  mapping.live_bytes = mapping.allocated_bytes = mapping.peak_bytes = 100;
  mapping.rare.edit().mapped[static_cast<size_t>(model::MappedKind::kReserved)] = 40;
  return report;
}

TEST(ChosenMemory, OfMallocLeavesMappingsApart) {
  Report report = mapper();
  choose_memory(report, Memory::kMalloc);
  ASSERT_EQ(report.stacks.size(), 2u);
  EXPECT_TRUE(report.stacks[1].is_apart());
  EXPECT_EQ(report.stacks[1].live_bytes.counted(), 100u);
}

TEST(ChosenMemory, OfBothCountsMappingsAsBlocksOfTheirOwnMemory) {
  Report report = mapper();
  choose_memory(report, Memory::kBoth);
  ASSERT_EQ(report.stacks.size(), 2u);
  const StackEntry& mapping = report.stacks[1];
  EXPECT_FALSE(mapping.is_apart());
  EXPECT_EQ(mapping.live_bytes.counted(), 60u);
  EXPECT_EQ(mapping.allocated_bytes.counted(), 60u);
  EXPECT_EQ(mapping.peak_bytes.counted(), 60u);
  EXPECT_EQ(mapping.own_live_bytes().counted(), 60u);
  EXPECT_TRUE(mapping.leaks) << "none of it is lost, as is known of blocks";
}

TEST(ChosenMemory, OfMmapLeavesBlocksOut) {
  Report report = mapper();
  choose_memory(report, Memory::kMmap);
  ASSERT_EQ(report.stacks.size(), 1u);
  EXPECT_EQ(report.stacks[0].function, "mmap");
  EXPECT_FALSE(report.stacks[0].is_apart());
}

TEST(ChosenMemory, IsBothFirstWhereMoreWasMapped) {
  Report report = mapper();
  EXPECT_EQ(first_memory(report), Memory::kMalloc);
  report.totals.mapped.add(model::MappedKind::kPrivate, 8);
  EXPECT_EQ(first_memory(report), Memory::kBoth);
  EXPECT_EQ(memory_named("both"), Memory::kBoth);
  EXPECT_EQ(memory_named("heap"), std::nullopt);
}

}  // namespace
}  // namespace heaptap::report
