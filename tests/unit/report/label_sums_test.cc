#include "analysis/report/label_sums.h"
#include "analysis/findings/label_text.h"

#include <gtest/gtest.h>

namespace heaptap::report {
namespace {

LabelEntry tagged(std::vector<std::string> tags, uint64_t live_bytes, uint64_t allocated_bytes) {
  LabelEntry entry;
  entry.tags = std::move(tags);
  entry.sum.live_bytes = live_bytes;
  entry.sum.allocated_bytes = allocated_bytes;
  entry.sum.allocations = 1;
  return entry;
}

TEST(LabelSumsTest, PathsOfTags) {
  EXPECT_EQ(path_of_tags({}), "");
  EXPECT_EQ(path_of_tags({"request"}), "request");
  EXPECT_EQ(path_of_tags({"request", "parse"}), "request/parse");
}

TEST(LabelSumsTest, EqualTagsAreOne) {
  std::vector<LabelEntry> labels;
  for (const LabelEntry& part :
       {tagged({"a"}, 1, 10), tagged({"a", "b"}, 2, 20), tagged({"a"}, 3, 30), tagged({}, 4, 40), tagged({}, 5, 50)})
    add_to_labels(labels, part);
  ASSERT_EQ(labels.size(), 3U);
  EXPECT_EQ(labels[0].sum.live_bytes, 4U);
  EXPECT_EQ(labels[0].sum.allocations, 2U);
  EXPECT_EQ(labels[1].sum.allocated_bytes, 20U);
  EXPECT_EQ(labels[2].sum.allocated_bytes, 90U);
}

TEST(LabelSumsTest, WordsForPeopleAreSafe) {
  StackEntry stack;
  EXPECT_EQ(findings::labels_of(stack), "");
  stack.rare.edit().tags = {"request", "par\x1bse"};
  EXPECT_EQ(findings::labels_of(stack).find('\x1b'), std::string::npos);
  stack.rare.edit().tags = {"request"};
  stack.pooled = true;
  stack.rare.edit().pool = "arena";
  EXPECT_EQ(findings::labels_of(stack), "pool: arena, tag: request");
}

}  // namespace
}  // namespace heaptap::report
