// Resident memory of a real process by region: this one, which holds still as far as its own mappings go.
#include "capture/scan/resident_regions.h"
#include "capture/process/process_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "common/base/pages.h"
#include "kernel_facts.h"

namespace heaptap::scan {
namespace {

using base::AddressRange;
using model::RegionKind;

constexpr uint64_t kNoDeadline = ~uint64_t{0};

// Anonymous pages between two that can't be accessed, so that the kernel merges them with nothing.
class Pages {
 public:
  explicit Pages(uint64_t count) : bytes_((count + 2) * base::page_bytes()) {
    memory_ = static_cast<char*>(mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(at(0), count * base::page_bytes(), PROT_READ | PROT_WRITE);
  }
  ~Pages() { munmap(memory_, bytes_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  [[nodiscard]] char* at(uint64_t page) const { return memory_ + (page + 1) * base::page_bytes(); }
  [[nodiscard]] AddressRange range(uint64_t page, uint64_t count) const {
    const auto begin = reinterpret_cast<uint64_t>(at(page));
    return {begin, begin + count * base::page_bytes()};
  }

 private:
  uint64_t bytes_;
  char* memory_;
};

RegionKind kind_at(const std::vector<model::Region>& regions, uint64_t address) {
  const auto found = std::ranges::find_if(regions, [&](const model::Region& r) { return r.range.contains(address); });
  return found == regions.end() ? RegionKind::kAnonymous : found->kind;
}

TEST(ResidentRegions, PagesThatWereWrittenAreResident) {
  const Pages pages(8);
  *pages.at(1) = 1;
  *pages.at(2) = 1;
  *pages.at(6) = 1;
  volatile const char* read = pages.at(4);
  ASSERT_EQ(*read, 0);  // the page of zeros, which is nobody's
  const process::PageMap map(getpid());
  std::vector<AddressRange> parts;
  if (!map.present(pages.range(0, 8), kNoDeadline, parts)) GTEST_SKIP() << "the kernel doesn't tell";
  std::vector expected{pages.range(1, 2), pages.range(6, 1)};
  if (test::kernel_gives_pages_to_readers()) expected.insert(expected.begin() + 1, pages.range(4, 1));
  EXPECT_EQ(parts, expected);
  EXPECT_FALSE(map.present(pages.range(0, 8), 0, parts));
}

TEST(ResidentRegions, OfBlocksTheRunsAreKept) {
  const Pages pages(8);
  *pages.at(1) = 1;
  *pages.at(6) = 1;
  const process::PageMap map(getpid());
  const std::vector<model::Region> regions{{.range = pages.range(0, 2), .kind = RegionKind::kFile},
                                           {.range = pages.range(2, 6), .kind = RegionKind::kAllocator}};
  const auto resident = measure_resident(regions, map, kNoDeadline);
  if (!resident) GTEST_SKIP() << "the kernel doesn't tell";
  EXPECT_EQ(resident->regions[0].resident_bytes, base::page_bytes());
  EXPECT_EQ(resident->regions[1].resident_bytes, base::page_bytes());
  EXPECT_EQ(resident->runs, std::vector{pages.range(6, 1)});
  EXPECT_TRUE(resident->has_all_runs);
  EXPECT_FALSE(measure_resident(regions, map, 0));
  EXPECT_FALSE(measure_resident(std::vector(model::kMaxRegions + 1, regions[0]), map, kNoDeadline));
}

TEST(ResidentRegions, OfThreadsThatWereNotJoinedAreCounted) {
  constexpr uint64_t kUnit = model::kRegionUnitBytes;
  MemoryLayout layout;
  EXPECT_FALSE(note_of_unjoined(layout, std::nullopt));
  layout.unjoined_stacks = {{0x30000, 0x40000}, {0x10000, 0x20000}};
  const auto note = [&](const std::optional<model::ResidentRegions>& resident) {
    return note_of_unjoined(layout, resident).value_or(model::Note{}).numbers;
  };
  EXPECT_EQ(note(std::nullopt), (std::vector<uint64_t>{2, 0x20000})) << "unknown how much is resident";
  const model::ResidentRegions resident{
      .regions = {{.range = {0x0, 0x10000}, .kind = RegionKind::kEndedStack, .resident_bytes = 5 * kUnit},
                  {.range = {0x10000, 0x20000}, .kind = RegionKind::kEndedStack, .resident_bytes = kUnit},
                  {.range = {0x20000, 0x30000}, .kind = RegionKind::kEndedStack, .resident_bytes = 7 * kUnit},
                  {.range = {0x30000, 0x3f000}, .kind = RegionKind::kEndedStack, .resident_bytes = 2 * kUnit},
                  {.range = {0x3f000, 0x40000}, .kind = RegionKind::kMapped, .resident_bytes = kUnit}},
      .runs = {}};
  EXPECT_EQ(note(resident), (std::vector<uint64_t>{2, 0x20000, 3 * kUnit})) << "of these stacks alone";
}

TEST(ResidentRegions, MemoryIsDividedByWhatIsKnownOfIt) {
  const Pages of_blocks(4);
  const Pages mapped(4);
  const Pages other(4);
  const Pages ended(4);
  const Pages own(4);
  int on_stack = 0;
  static int global = 1;
  const auto global_at = reinterpret_cast<uint64_t>(&global);
  const MemoryLayout layout{.globals = {{global_at, global_at + sizeof(global)}},
                            .heaptap = {},
                            .stacks = {},
                            .ended_stacks = {ended.range(0, 4)},
                            .unjoined_stacks = {},
                            .heap_parts = {}};
  const std::vector<model::ScannedBlock> blocks{
      {.address = of_blocks.range(1, 1).begin + 8, .size_bytes = 100, .number = 1, .site = 0, .type = 0}};
  const std::vector<AddressRange> mapped_ranges{of_blocks.range(0, 1), mapped.range(0, 4)};
  const std::vector<AddressRange> own_areas{own.range(1, 2)};
  process::ProcessMemory memory(getpid());
  const auto regions =
      find_regions(memory, {.layout = layout, .blocks = blocks, .mapped = mapped_ranges, .own = own_areas});
  EXPECT_TRUE(std::ranges::is_sorted(regions, {}, [](const model::Region& region) { return region.range.begin; }));
  EXPECT_EQ(kind_at(regions, of_blocks.range(1, 1).begin), RegionKind::kAllocator);
  EXPECT_EQ(kind_at(regions, of_blocks.range(3, 1).begin), RegionKind::kAllocator);
  EXPECT_EQ(kind_at(regions, of_blocks.range(0, 1).begin), RegionKind::kMapped);  // without a block
  EXPECT_EQ(kind_at(regions, mapped.range(2, 1).begin), RegionKind::kMapped);
  EXPECT_EQ(kind_at(regions, other.range(0, 1).begin), RegionKind::kAnonymous);
  EXPECT_EQ(kind_at(regions, ended.range(3, 1).begin), RegionKind::kEndedStack);
  EXPECT_EQ(kind_at(regions, own.range(1, 1).begin), RegionKind::kHeaptap);
  EXPECT_EQ(kind_at(regions, own.range(3, 1).begin), RegionKind::kAnonymous);
  EXPECT_EQ(kind_at(regions, global_at), RegionKind::kGlobals);
  EXPECT_EQ(kind_at(regions, reinterpret_cast<uint64_t>(&on_stack)), RegionKind::kStack);
  EXPECT_EQ(kind_at(regions, reinterpret_cast<uint64_t>(&find_regions)), RegionKind::kFile);
}

}  // namespace
}  // namespace heaptap::scan
