#include "views/top/grid.h"

#include <gtest/gtest.h>

namespace heaptap::top {
namespace {

TEST(Grid, KeepsWhatIsInsideAndCutsTheRest) {
  Grid grid(6, 2);
  EXPECT_EQ(grid.put(2, 0, "abcdef"), 6u);
  EXPECT_EQ(grid.put(9, 0, "x"), 9u);
  grid.put(0, 7, "x");
  EXPECT_EQ(grid.put(0, 1, "abcdef", Style::kPlain, 3), 3u);
  EXPECT_EQ(grid.text(false), "  abcd\nabc\n");
}

TEST(Grid, GivesWideCharactersTwoCells) {
  Grid grid(5, 1);
  grid.put(0, 0, "目录x");
  EXPECT_EQ(grid.line(0), "目录x");
  EXPECT_EQ(grid.at(1, 0).text, "");
  grid.put(1, 0, "y");  // over the right half of one
  EXPECT_EQ(grid.line(0), " y录x");
  grid.put(2, 0, "z");  // over the left half of one
  EXPECT_EQ(grid.line(0), " yz x");
}

TEST(Grid, HasNoHalfOfAWideCharacterAtItsEdge) {
  Grid grid(3, 1);
  grid.put(0, 0, "目录");
  EXPECT_EQ(grid.line(0), "目");
}

TEST(Grid, PutsMarksOverTheCharacterBefore) {
  Grid grid(3, 1);
  grid.put(0, 0, "e\u0301f");
  EXPECT_EQ(grid.at(0, 0).text, "e\u0301");
  EXPECT_EQ(grid.at(1, 0).text, "f");
}

TEST(Grid, MakesEverythingSafe) {
  Grid grid(40, 1);
  grid.put(0, 0, "a\x1b[31mb\nc\xff\u202e");
  const std::string line = grid.line(0);
  EXPECT_EQ(line.find('\x1b'), std::string::npos) << line;
  EXPECT_EQ(line.find('\n'), std::string::npos) << line;
  EXPECT_EQ(line.find('\xff'), std::string::npos) << line;
  EXPECT_EQ(line.find("\u202e"), std::string::npos) << line;
}

TEST(Grid, HasOnlyAsciiWhereThatIsAllThereIs) {
  Grid grid(10, 1, true);
  grid.put(0, 0, "aé目z");
  EXPECT_EQ(grid.line(0), "a??z");
}

TEST(Grid, BeginsAndEndsStylesOnEachLine) {
  Grid grid(4, 2);
  grid.put(0, 0, "ab", Style::kBold);
  grid.put(2, 0, "c");
  grid.put(0, 1, "d", Style::kDim);
  EXPECT_EQ(grid.text(true), "\x1b[1mab\x1b[0mc\n\x1b[2md\x1b[0m\n");
}

}  // namespace
}  // namespace heaptap::top
