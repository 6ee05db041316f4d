#include "common/base/nearest_word.h"

#include <gtest/gtest.h>

#include <vector>

namespace heaptap::base {
namespace {

TEST(NearestWord, CountsEdits) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("leaks", "leaks"), 0u);
  EXPECT_EQ(edit_distance("", "run"), 3u);
  EXPECT_EQ(edit_distance("--dept", "--depth"), 1u);
  EXPECT_EQ(edit_distance("shew", "show"), 1u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

TEST(NearestWord, CountsASwapOfNeighboursOnce) {
  EXPECT_EQ(edit_distance("hlep", "help"), 1u);
  EXPECT_EQ(edit_distance("lekas", "leaks"), 1u);
  EXPECT_EQ(edit_distance("tpo", "top"), 1u);
}

TEST(NearestWord, IsOneThatIsNear) {
  const std::vector<std::string> words{"run", "top", "leaks", "show"};
  EXPECT_EQ(nearest_word("lekas", words), "leaks");
  EXPECT_EQ(nearest_word("shwo", words), "show");
  EXPECT_EQ(nearest_word("rnu", words), "run");
  EXPECT_EQ(nearest_word("ls", words), "");
  EXPECT_EQ(nearest_word("foo", words), "") << "two edits are too many for a short word";
  EXPECT_EQ(nearest_word("frobnicate", words), "");
  EXPECT_EQ(suggestion("lekas", words), " (did you mean leaks?)");
  EXPECT_EQ(suggestion("frobnicate", words), "");
}

}  // namespace
}  // namespace heaptap::base
