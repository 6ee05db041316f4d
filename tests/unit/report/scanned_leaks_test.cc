#include <gtest/gtest.h>

#include "analysis/report/leak_counts.h"
#include "analysis/report/stack_sums.h"

namespace heaptap::report {
namespace {

StackEntry with_definite(uint64_t blocks) {
  StackEntry stack;
  stack.leaks.edit().definite = {blocks, 8 * blocks};
  return stack;
}

StackEntry scanned() {
  StackEntry stack;
  stack.leaks.set_scanned();
  return stack;
}

TEST(ScannedLeaks, AScanThatFoundNothingIsNotThatThereWasNone) {
  const StackEntry none;
  EXPECT_FALSE(none.leaks);
  const StackEntry nothing = scanned();
  EXPECT_TRUE(nothing.leaks);
  EXPECT_FALSE(nothing.leaks.found_blocks());
  EXPECT_EQ(nothing.leaks->definite.blocks, 0U);
  EXPECT_FALSE(nothing.leaks->may_be_lost());
}

TEST(ScannedLeaks, ASumKnowsWhatOneOfItsPartsDoes) {
  StackEntry sum;
  add_figures(sum, StackEntry());
  EXPECT_FALSE(sum.leaks);
  add_figures(sum, scanned());
  EXPECT_TRUE(sum.leaks);
  EXPECT_FALSE(sum.leaks.found_blocks()) << "nothing takes no memory";
  add_figures(sum, with_definite(2));
  add_figures(sum, StackEntry());
  add_figures(sum, scanned());
  add_figures(sum, with_definite(3));
  EXPECT_EQ(sum.leaks->definite.blocks, 5U);
  EXPECT_EQ(sum.leaks->definite.bytes, 40U);
}

TEST(StackSums, MappedBytesAreAddedUpByKind) {
  model::MappedBytes bytes{};
  bytes[static_cast<size_t>(model::MappedKind::kFile)] = 10;
  StackEntry sum;
  add_mapped(sum, {}, 0);
  EXPECT_FALSE(sum.rare.is_set());
  add_mapped(sum, bytes, 4);
  add_mapped(sum, bytes, 0);
  EXPECT_EQ(sum.beside_memory_bytes(), 20U);
  EXPECT_EQ(sum.rare->mapped_peak_bytes, 4U);
}

// Programs have very many.
TEST(StackEntry, IsSmall) { EXPECT_LE(sizeof(StackEntry), 320U); }

}  // namespace
}  // namespace heaptap::report
