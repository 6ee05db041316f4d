#include "capture/process/stat_line.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <string>

#include "capture/process/process_status.h"

namespace heaptap::process {
namespace {

// The fields behind the name are their own numbers, the third is a letter.
std::string line_of(const std::string& name) {
  std::string line("1234 (");
  line.append(name).append(") S");
  for (int field = 4; field <= 52; ++field) line.append(" ").append(std::to_string(field));
  return line.append("\n");
}

TEST(StatLineTest, AnyNameIsSkipped) {
  for (const char* name :
       {"cat", "", "a b", ")", "(", ") R 1 2", "a) Z 7 8 (b", "x\ny) 1 2\n", ") ) ) ", "((((", "\t\xff"}) {
    const StatLine line(line_of(name));
    SCOPED_TRACE(name);
    EXPECT_EQ(line.text(StatLine::kState), "S");
    EXPECT_EQ(line.number(StatLine::kFlags), 9u);
    EXPECT_EQ(line.number(StatLine::kStartTime), 22u);
    EXPECT_EQ(line.number(StatLine::kStartStack), 28u);
    EXPECT_EQ(line.number(StatLine::kProcessor), 39u);
    EXPECT_EQ(line.number(StatLine::kArgumentsStart), 48u);
    EXPECT_EQ(line.number(StatLine::kArgumentsEnd), 49u);
  }
}

TEST(StatLineTest, WhatIsNotThereIsNone) {
  for (const char* text :
       {"", "1234", "1234 (cat", "1234 (cat)", "1234 (cat) ", "1234 (cat) S 4 5 6 7 8", "1234 (cat) S 4 5 6 7 8 "}) {
    SCOPED_TRACE(text);
    EXPECT_EQ(StatLine(text).number(StatLine::kFlags), std::nullopt);
  }
  EXPECT_EQ(StatLine("1 (cat) S 4 5 6 7 8 9").number(StatLine::kFlags), 9u);
  EXPECT_EQ(StatLine("1 (cat) S 4 5 6 7 8 9x 10").number(StatLine::kFlags), std::nullopt);
  EXPECT_EQ(StatLine("1 (cat) S 4 5 6 7 8 -9 10").number(StatLine::kFlags), std::nullopt);
  EXPECT_EQ(StatLine("1 (cat) S 4 5 6 7 8 99999999999999999999 10").number(StatLine::kFlags), std::nullopt);
  EXPECT_EQ(StatLine::of(1 << 22).number(StatLine::kFlags), std::nullopt);
}

TEST(StatLineTest, TheKernelsOwnLineOfAHostileName) {
  const uint64_t before = read_start_time(getpid());
  ASSERT_NE(before, 0u);
  ASSERT_EQ(prctl(PR_SET_NAME, ") R 1 (\n2 3 ("), 0);
  EXPECT_EQ(read_start_time(getpid()), before);
  EXPECT_EQ(StatLine::of_own().number(StatLine::kStartTime), before);
  const uint64_t stack = read_first_stack_pointer(getpid());
  EXPECT_GT(stack, reinterpret_cast<uintptr_t>(&before));
  EXPECT_GT(StatLine::of_own().number(StatLine::kArgumentsStart), stack);
}

}  // namespace
}  // namespace heaptap::process
