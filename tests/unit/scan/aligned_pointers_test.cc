#include "capture/scan/aligned_pointers.h"

#include <gtest/gtest.h>

namespace heaptap::scan {
namespace {

constexpr uint64_t kStart = 0x5555'0010;  // as malloc gives it

bool is_aligned(uint64_t size, uint64_t offset, bool is_variable) {
  return is_to_aligned_place({.address = kStart, .size_bytes = size, .number = 1, .site = 0, .type = 0}, offset,
                             is_variable);
}

uint64_t first_place(uint64_t remembered, uint64_t alignment) {
  return (kStart + remembered + alignment - 1) / alignment * alignment - kStart;
}

TEST(AlignedPointers, AreThoseToTheFirstPlaceBehindWhatIsRemembered) {
  for (const uint64_t alignment : {32, 64, 128, 256, 512, 1024, 2048, 4096}) {
    for (uint64_t remembered = 1; remembered <= 64; ++remembered) {
      const uint64_t offset = first_place(remembered, alignment);
      EXPECT_TRUE(is_aligned(offset + 5000, offset, true)) << alignment << ' ' << remembered;
      EXPECT_EQ(is_aligned(offset + 5000, offset, false), alignment >= 64 || (kStart + offset) % 64 == 0);
    }
  }
}

TEST(AlignedPointers, AreFewOfABlocksWords) {
  for (const uint64_t bytes : {512, 1024, 4096, 100'000}) {
    for (const bool is_variable : {false, true}) {
      uint64_t places = 0;
      for (uint64_t offset = 0; offset < bytes; offset += 8) places += is_aligned(bytes, offset, is_variable) ? 1 : 0;
      EXPECT_LE(places, bytes / 8 / 16) << bytes << is_variable;
      EXPECT_EQ(places == 0, bytes < 1024) << bytes << is_variable;
    }
  }
}

TEST(AlignedPointers, AreInsideTheBlockAndNotItsStart) {
  EXPECT_FALSE(is_aligned(0, 0, true));
  EXPECT_FALSE(is_aligned(5000, 0, true));
  EXPECT_TRUE(is_aligned(5000, 16, true));
  EXPECT_FALSE(is_aligned(5000, 24, true)) << "nothing is aligned to 8 by hand";
  EXPECT_FALSE(is_aligned(5000, 16, false)) << "nor to 16, that a word of a block need know";
  EXPECT_FALSE(is_aligned(48, 16, true)) << "in a small block it may be chance";
  EXPECT_FALSE(is_aligned(4096, 4096 + 48, true));
}

}  // namespace
}  // namespace heaptap::scan
