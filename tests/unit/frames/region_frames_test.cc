#include "common/frames/region_frames.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace heaptap::frames {
namespace {

using model::RegionKind;

constexpr uint64_t kUnit = model::kRegionUnitBytes;

model::ResidentRegions regions() {
  return {.regions = {{.range = {0x1000, 0x3000}, .kind = RegionKind::kFile, .resident_bytes = kUnit},
                      {.range = {0x3000, 0x9000}, .kind = RegionKind::kHeap, .resident_bytes = 2 * kUnit},
                      {.range = {0x7f0000000000, 0x7f0000004000}, .kind = RegionKind::kArena, .arena = 3},
                      {.range = {~uint64_t{0} - 0x1fff, ~uint64_t{0} - 0xfff}, .kind = RegionKind::kHeaptap}},
          .runs = {{0x3000, 0x4000}, {0x8000, 0x9000}},
          .has_all_runs = false};
}

bool read_varints(std::initializer_list<uint64_t> numbers, model::ResidentRegions& read) {
  ByteBuffer payload;
  for (const uint64_t number : numbers) payload.varint(number);
  wire::VarintReader in(payload.data(), payload.size());
  return read_regions(in, read);
}

TEST(RegionFrames, RegionsComeBack) {
  ByteBuffer payload;
  write_regions(payload, regions());
  wire::VarintReader in(payload.data(), payload.size());
  model::ResidentRegions read;
  ASSERT_TRUE(read_regions(in, read));
  EXPECT_TRUE(in.at_end());
  EXPECT_EQ(read, regions());
}

TEST(RegionFrames, AShortPayloadIsRefused) {
  ByteBuffer payload;
  write_regions(payload, regions());
  for (size_t bytes = 0; bytes < payload.size(); ++bytes) {
    wire::VarintReader in(payload.data(), bytes);
    model::ResidentRegions read;
    EXPECT_FALSE(read_regions(in, read)) << bytes;
    EXPECT_TRUE(read.regions.empty());
  }
}

// flags, regions (distance, size, kind, [arena], resident), runs (distance, size)
TEST(RegionFrames, KindsOfLaterVersionsAreOtherMemory) {
  model::ResidentRegions read;
  ASSERT_TRUE(read_varints({1, 1, 5, 2, 99, 1, 0}, read));
  EXPECT_EQ(read.regions[0],
            (model::Region{.range = {5 * kUnit, 7 * kUnit}, .kind = RegionKind::kAnonymous, .resident_bytes = kUnit}));
  EXPECT_TRUE(read.has_all_runs);
}

TEST(RegionFrames, ImpossibleOnesAreRefused) {
  model::ResidentRegions read;
  EXPECT_FALSE(read_varints({1, 1, 5, 0, 1, 0, 0}, read));                     // of no size
  EXPECT_FALSE(read_varints({1, 1, 5, 2, 1, 3, 0}, read));                     // more resident than it has
  EXPECT_FALSE(read_varints({1, 1, uint64_t{1} << 52, 1, 1, 0, 0}, read));     // behind all addresses
  EXPECT_FALSE(read_varints({1, 1, 1, uint64_t{1} << 52, 1, 0, 0}, read));     // …
  EXPECT_FALSE(read_varints({1, 1, 1, 1, 2, uint64_t{1} << 32, 0, 0}, read));  // number of an arena
  EXPECT_FALSE(read_varints({1, uint64_t{1} << 40, 5, 2, 1, 1}, read));        // more than there are bytes
  EXPECT_FALSE(read_varints({1, 0, uint64_t{1} << 40, 5, 2, 1}, read));        // …
}

}  // namespace
}  // namespace heaptap::frames
