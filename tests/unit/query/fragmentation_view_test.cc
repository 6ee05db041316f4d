// What resident pages of a scan say: parts that add up, free memory by arena, and what blocks keep resident.
#include "analysis/query/fragmentation_view.h"

#include <gtest/gtest.h>

#include <vector>

namespace heaptap::query {
namespace {

using model::RegionKind;

constexpr uint64_t kPage = 4096;
constexpr uint64_t kHeap = 0x10000;
constexpr uint64_t kArena = 0x7f0000000000;

model::ScannedBlock block(uint64_t address, uint64_t size_bytes, model::SiteId site, model::BlockNumber number = 1) {
  return {.address = address, .size_bytes = size_bytes, .number = number, .site = site, .type = 0};
}

model::Region region(uint64_t begin, uint64_t pages, RegionKind kind, uint64_t resident_pages, uint32_t arena = 0) {
  return {
      .range = {begin, begin + pages * kPage}, .kind = kind, .arena = arena, .resident_bytes = resident_pages * kPage};
}

// A heap of 8 pages, of which the first two and the last two are resident; an arena of 4 pages, all of them; other memory.
model::HeapScan scan_of(std::vector<model::ScannedBlock> blocks) {
  model::HeapScan scan;
  scan.blocks = std::move(blocks);
  scan.resident = model::ResidentRegions{
      .regions = {region(kHeap, 8, RegionKind::kHeap, 4), region(0x100000, 3, RegionKind::kFile, 2),
                  region(kArena, 4, RegionKind::kArena, 4, 1), region(kArena + 4 * kPage, 1, RegionKind::kStack, 1)},
      .runs = {{kHeap, kHeap + 2 * kPage}, {kHeap + 6 * kPage, kHeap + 8 * kPage}, {kArena, kArena + 4 * kPage}}};
  return scan;
}

TEST(FragmentationView, WithoutResidentMemoryItIsUnknown) {
  EXPECT_FALSE(resident_parts_of({}));
  EXPECT_FALSE(keeps_of({}, kPage));
}

TEST(FragmentationView, PartsAddUp) {
  // The second block has a page that isn't resident; the last one lies in a pool's.
  const auto parts =
      resident_parts_of(scan_of({block(kHeap, 100, 0), block(kHeap + kPage, 2 * kPage, 0), block(kArena, 3 * kPage, 1),
                                 block(kArena + 8, 8, 1, model::kFirstPooledNumber)}));
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->bytes, 11 * kPage);
  EXPECT_EQ(parts->live_bytes, 100 + kPage + 3 * kPage);
  EXPECT_EQ(parts->free_bytes, 8 * kPage - parts->live_bytes);
  EXPECT_EQ(parts->file_bytes, 2 * kPage);
  EXPECT_EQ(parts->stack_bytes, kPage);
  EXPECT_EQ(parts->other_bytes + parts->mapped_bytes + parts->global_bytes + parts->heaptap_bytes, 0U);
}

TEST(FragmentationView, BlocksThatTheAllocatorHasFreeArentLive) {
  model::HeapScan scan = scan_of({block(kHeap, 100, 0), block(kHeap + 200, 100, 0)});
  scan.lives = {model::BlockLife::kFree, model::BlockLife::kUnknown};
  EXPECT_EQ(resident_parts_of(scan)->live_bytes, 100U);
}

TEST(FragmentationView, APagesRestIsDividedByBytes) {
  const auto keeps =
      keeps_of(scan_of({block(kHeap, 300, 0), block(kHeap + 512, 100, 1), block(kHeap + 7 * kPage, 0, 2)}), kPage);
  ASSERT_TRUE(keeps);
  EXPECT_EQ(keeps->sites[0].kept_bytes, (kPage - 400) * 3 / 4);
  EXPECT_EQ(keeps->sites[1].kept_bytes, (kPage - 400) / 4);
  EXPECT_EQ(keeps->sites[2].kept_bytes, kPage);
  EXPECT_EQ(keeps->sites[2].live.blocks, 1U);
  ASSERT_EQ(keeps->arenas.size(), 2U);
  EXPECT_EQ(keeps->arenas[0].kind, RegionKind::kHeap);
  EXPECT_EQ(keeps->arenas[0].reserved_bytes, 8 * kPage);
  EXPECT_EQ(keeps->arenas[0].live.bytes, 400U);
  EXPECT_EQ(keeps->arenas[0].live.blocks, 3U);
  EXPECT_EQ(keeps->arenas[0].unused_bytes, 2 * kPage);
  EXPECT_EQ(keeps->arenas[1].unused_bytes, 4 * kPage);
}

TEST(FragmentationView, OfALargeBlockTheEndsCount) {
  const auto keeps = keeps_of(scan_of({block(kArena + 96, 3 * kPage, 0)}), kPage);
  ASSERT_TRUE(keeps);
  EXPECT_EQ(keeps->sites[0].pages, 4U);
  EXPECT_EQ(keeps->sites[0].kept_bytes, kPage);
  const report::ArenaUse& arena = keeps->arenas[0].kind == RegionKind::kArena ? keeps->arenas[0] : keeps->arenas[1];
  EXPECT_EQ(arena.unused_bytes, 0U);
  EXPECT_EQ(arena.free_bytes(), kPage);
}

TEST(FragmentationView, AllBytesAreInOnePlace) {
  const model::HeapScan scan =
      scan_of({block(kHeap + 40, 5000, 0), block(kHeap + 6000, 700, 1), block(kHeap + 7 * kPage, 33, 1),
               block(kArena + 10, 1, 2), block(kArena + kPage, kPage, 0)});
  const auto keeps = keeps_of(scan, kPage);
  ASSERT_TRUE(keeps);
  uint64_t sum = 0;
  for (const SiteKeep& site : keeps->sites) sum += site.live.bytes + site.kept_bytes;
  for (const report::ArenaUse& arena : keeps->arenas) sum += arena.unused_bytes;
  EXPECT_EQ(sum, 8 * kPage);
}

// Of a damaged or hostile trace.
TEST(FragmentationView, AmountsThatContradictEachOtherAreUnknown) {
  model::HeapScan scan = scan_of({block(kHeap, 100, 0), block(kHeap + 50, 2 * kPage, 1), block(kHeap + 50, 9, 1)});
  EXPECT_EQ(resident_parts_of(scan)->live_bytes, 2 * kPage);
  EXPECT_FALSE(keeps_of(scan, 0));
  EXPECT_FALSE(keeps_of(scan, 5000));
  EXPECT_FALSE(keeps_of(scan, uint64_t{1} << 40));
  scan.resident->has_all_runs = false;
  EXPECT_FALSE(resident_parts_of(scan));
  scan.resident->has_all_runs = true;
  scan.resident->regions[0].resident_bytes = 0;
  EXPECT_FALSE(resident_parts_of(scan));
  EXPECT_FALSE(keeps_of(scan, kPage));
}

}  // namespace
}  // namespace heaptap::query
