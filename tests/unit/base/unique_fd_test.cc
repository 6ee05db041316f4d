#include "common/base/unique_fd.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <type_traits>
#include <vector>

namespace heaptap::base {
namespace {

bool is_open(int descriptor) { return fcntl(descriptor, F_GETFD) >= 0; }

int open_one() { return open("/dev/null", O_RDONLY | O_CLOEXEC); }

static_assert(!std::is_copy_constructible_v<UniqueFd> && !std::is_copy_assignable_v<UniqueFd>);
static_assert(std::is_nothrow_move_constructible_v<UniqueFd> && std::is_nothrow_move_assignable_v<UniqueFd>);
static_assert(!std::is_convertible_v<int, UniqueFd> && !std::is_convertible_v<UniqueFd, int>);

TEST(UniqueFdTest, OwnsNothingAtFirst) {
  const UniqueFd none;
  EXPECT_FALSE(none);
  EXPECT_EQ(none.get(), -1);
  EXPECT_FALSE(UniqueFd(-ENOENT)) << "every negative number";
}

TEST(UniqueFdTest, OwnsStandardInputToo) {
  UniqueFd first(0);
  EXPECT_TRUE(first);
  EXPECT_EQ(first.release(), 0);
}

TEST(UniqueFdTest, ClosesAtItsEnd) {
  int number = -1;
  {
    const UniqueFd owner(open_one());
    number = owner.get();
    ASSERT_TRUE(owner);
    EXPECT_TRUE(is_open(number));
  }
  EXPECT_FALSE(is_open(number));
}

// What has the number next is another's.
TEST(UniqueFdTest, ClosesOnce) {
  UniqueFd next;
  {
    UniqueFd owner(open_one());
    const int number = owner.get();
    owner.reset();
    EXPECT_FALSE(owner);
    next.reset(open_one());
    ASSERT_EQ(next.get(), number) << "the lowest that is free";
    owner.reset();
  }
  EXPECT_TRUE(is_open(next.get()));
}

TEST(UniqueFdTest, ResetTakesAnotherAndClosesTheFirst) {
  UniqueFd owner(open_one());
  const int first = owner.get();
  const int second = open_one();
  owner.reset(second);
  EXPECT_EQ(owner.get(), second);
  EXPECT_FALSE(is_open(first));
  EXPECT_TRUE(is_open(second));
}

TEST(UniqueFdTest, ReleaseGivesItAway) {
  int number = -1;
  {
    UniqueFd owner(open_one());
    number = owner.release();
    EXPECT_FALSE(owner);
  }
  EXPECT_TRUE(is_open(number));
  const UniqueFd last(number);
}

TEST(UniqueFdTest, MovesWithoutClosing) {
  UniqueFd first(open_one());
  const int number = first.get();
  UniqueFd second(std::move(first));
  EXPECT_EQ(second.get(), number);
  EXPECT_EQ(first.get(), -1);  // NOLINT(bugprone-use-after-move): it owns nothing
  EXPECT_TRUE(is_open(number));

  UniqueFd third(open_one());
  const int replaced = third.get();
  third = std::move(second);
  EXPECT_EQ(third.get(), number);
  EXPECT_TRUE(is_open(number));
  EXPECT_FALSE(is_open(replaced));
}

TEST(UniqueFdTest, MovedToItselfItStays) {
  UniqueFd owner(open_one());
  const int number = owner.get();
  UniqueFd& same = owner;
  owner = std::move(same);
  EXPECT_EQ(owner.get(), number);
  EXPECT_TRUE(is_open(number));
}

TEST(UniqueFdTest, ErasedFromTheMiddleOfAVectorOnlyThatOneCloses) {
  std::vector<UniqueFd> owners;
  std::array<int, 3> numbers{};
  for (int& number : numbers) number = owners.emplace_back(open_one()).get();
  owners.erase(owners.begin() + 1);
  EXPECT_TRUE(is_open(numbers[0]));
  EXPECT_FALSE(is_open(numbers[1]));
  EXPECT_TRUE(is_open(numbers[2]));
}

TEST(UniqueFdTest, KeepsErrno) {
  const int number = open_one();
  ASSERT_EQ(close(number), 0);
  errno = ENOSPC;
  {
    const UniqueFd owner(number);
  }  // closed already: close() fails
  EXPECT_EQ(errno, ENOSPC);
}

TEST(UniqueFdTest, ADuplicateIsOfTheSameFileAndItsOwn) {
  UniqueFd first(open_one());
  const UniqueFd second = first.duplicate();
  ASSERT_TRUE(second);
  EXPECT_NE(second.get(), first.get());
  EXPECT_EQ(fcntl(second.get(), F_GETFD), FD_CLOEXEC);
  struct stat one{};
  struct stat other{};
  ASSERT_EQ(fstat(first.get(), &one), 0);
  first.reset();
  ASSERT_EQ(fstat(second.get(), &other), 0);
  EXPECT_EQ(one.st_ino, other.st_ino);
  EXPECT_FALSE(first.duplicate());
}

}  // namespace
}  // namespace heaptap::base
