// Resident memory of a stopped process by region, page by page: part of a leak scan.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/address_range.h"

namespace heaptap::model {

// Owner of a region. In traces: never renumber.
enum class RegionKind : uint8_t {
  kAnonymous = 0,    // unknown; also kinds of later versions
  kHeap = 1,         // main arena of glibc, as far as it grew by brk
  kArena = 2,        // another arena of glibc
  kMappedBlock = 3,  // one block, which glibc mapped for it alone
  kAllocator = 4,    // other memory with blocks in it: of an allocator whose arenas are unknown
  kMapped = 5,       // anonymous, mapped by the program's own calls
  kGlobals = 6,      // writable data of modules
  kStack = 7,        // of a thread, with its thread-local variables
  kEndedStack = 8,   // of a thread that has ended: kept by the C library
  kFile = 9,
  kShared = 10,
  kHeaptap = 11,  // its log, and its agent
};
inline constexpr unsigned kRegionKindCount = 12;

constexpr bool holds_blocks(RegionKind kind) {
  return kind == RegionKind::kHeap || kind == RegionKind::kArena || kind == RegionKind::kMappedBlock ||
         kind == RegionKind::kAllocator;
}

// Whole units of kRegionUnitBytes.
struct Region {
  base::AddressRange range;
  RegionKind kind;
  uint32_t arena = 0;  // of kArena: its number, from 1 on; one arena may have several regions
  uint64_t resident_bytes = 0;
  bool operator==(const Region&) const = default;
};

inline constexpr uint64_t kRegionUnitBytes = 4096;  // the smallest page
inline constexpr size_t kMaxRegions = size_t{1} << 17;
inline constexpr size_t kMaxResidentRuns = size_t{1} << 18;

struct ResidentRegions {
  std::vector<Region> regions;           // ascending, disjoint
  std::vector<base::AddressRange> runs;  // resident parts of those that hold blocks; ascending, disjoint
  bool has_all_runs = true;              // false: there are more than kMaxResidentRuns; the first ones are here
  bool operator==(const ResidentRegions&) const = default;
};

}  // namespace heaptap::model
