// When a line's events are compressed.
#include "common/line/compression.h"

#include <gtest/gtest.h>

namespace heaptap::line {
namespace {

constexpr size_t kMuch = size_t{1} << 20;

TEST(Compression, IsForLinesThatAreBehind) {
  EXPECT_TRUE(compresses(Compression::kAuto, 2, kMuch));
  EXPECT_FALSE(compresses(Compression::kAuto, 2, 0));
  EXPECT_FALSE(compresses(Compression::kAuto, 2, 1000));
}

TEST(Compression, IsNotForMachinesWithOneCpu) {
  EXPECT_FALSE(compresses(Compression::kAuto, 1, kMuch));
  EXPECT_FALSE(compresses(Compression::kAuto, 0, kMuch));  // nobody knows how many there are
}

TEST(Compression, IsAsItWasSaid) {
  for (const unsigned cpus : {0u, 1u, 64u}) {
    for (const size_t waiting : {size_t{0}, kMuch}) {
      EXPECT_TRUE(compresses(Compression::kAlways, cpus, waiting));
      EXPECT_FALSE(compresses(Compression::kNever, cpus, waiting));
    }
  }
}

TEST(Compression, HasThreeNames) {
  EXPECT_EQ(compression_named("auto"), Compression::kAuto);
  EXPECT_EQ(compression_named("always"), Compression::kAlways);
  EXPECT_EQ(compression_named("never"), Compression::kNever);
  EXPECT_EQ(compression_named(""), std::nullopt);
  EXPECT_EQ(compression_named("Always"), std::nullopt);
}

}  // namespace
}  // namespace heaptap::line
