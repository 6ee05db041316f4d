// A scan's answer in pieces, of a target that may send what it likes.
#include "record/remote/incoming_scan.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace heaptap::remote {
namespace {

constexpr size_t kPiece = 1000;

uint64_t little_memory() { return 40'000; }  // a quarter of it may be taken
uint64_t endless_memory() { return UINT64_MAX; }

std::vector<uint8_t> piece_of(uint8_t value) { return std::vector<uint8_t>(kPiece, value); }

TEST(IncomingScan, IsPutTogether) {
  IncomingScan scan(endless_memory);
  EXPECT_EQ(*scan.take(1, piece_of(1), false), std::nullopt);
  EXPECT_EQ(*scan.take(1, {}, false), std::nullopt);
  const auto whole = *scan.take(1, piece_of(2), true);
  ASSERT_TRUE(whole.has_value());
  EXPECT_EQ(whole->size(), 2 * kPiece);
  EXPECT_EQ(whole->front(), 1);
  EXPECT_EQ(whole->back(), 2);
  EXPECT_EQ(scan.kept_bytes(), 0u);
  EXPECT_EQ((*scan.take(1, piece_of(3), true))->size(), kPiece);  // the next one begins anew
  EXPECT_TRUE((*scan.take(1, {}, true))->empty());
}

TEST(IncomingScan, IsRefusedOnceWhereItIsTooLarge) {
  IncomingScan scan(little_memory);
  for (int number = 0; number < 10; ++number) ASSERT_TRUE(scan.take(1, piece_of(1), false).has_value());
  const auto refused = scan.take(1, piece_of(1), false);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message.find("no leak scan: "), 0u) << refused.error().message;
  for (int number = 0; number < 100'000; ++number) {
    const auto rest = scan.take(1, piece_of(1), false);
    ASSERT_TRUE(rest.has_value());
    ASSERT_EQ(*rest, std::nullopt);
    ASSERT_EQ(scan.kept_bytes(), 0u);
  }
  EXPECT_EQ(*scan.take(1, {}, true), std::nullopt);
  EXPECT_EQ((*scan.take(1, piece_of(1), true))->size(), kPiece);
  EXPECT_FALSE(scan.take(1, std::vector<uint8_t>(10'001), true).has_value());
  EXPECT_EQ((*scan.take(1, piece_of(1), true))->size(), kPiece);
}

TEST(IncomingScan, OfManyStreamsOneIsKept) {
  IncomingScan scan(little_memory);
  for (uint64_t stream = 0; stream < 10'000; ++stream) {
    ASSERT_TRUE(scan.take(stream, piece_of(1), false).has_value());
    ASSERT_LE(scan.kept_bytes(), 2 * kPiece);
  }
  EXPECT_EQ((*scan.take(5, piece_of(1), true))->size(), kPiece);
}

TEST(IncomingScan, HasALimitWhereMemoryHasNone) {
  IncomingScan scan(endless_memory, 5 * kPiece);
  size_t taken = 0;
  while (scan.take(1, piece_of(1), false).has_value()) taken += kPiece;
  EXPECT_EQ(taken, 5 * kPiece);
  EXPECT_EQ(scan.kept_bytes(), 0u);
}

}  // namespace
}  // namespace heaptap::remote
