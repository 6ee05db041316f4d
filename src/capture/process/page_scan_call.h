// PAGEMAP_SCAN, an ioctl of /proc/PID/pagemap: Linux include/uapi/linux/fs.h, since 6.7. Declared here, since the headers of a build
// machine may be older. Private to process/.
#pragma once
#include <sys/ioctl.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/base/address_range.h"

namespace heaptap::process {

struct ScanRegion {
  uint64_t start;
  uint64_t end;
  uint64_t categories;
};

struct ScanArguments {
  uint64_t size;
  uint64_t flags;
  uint64_t start;
  uint64_t end;
  uint64_t walk_end;
  uint64_t regions;
  uint64_t region_count;
  uint64_t max_pages;
  uint64_t category_inverted;
  uint64_t category_mask;
  uint64_t category_anyof_mask;
  uint64_t return_mask;
};

constexpr unsigned long kPagemapScan = _IOWR('f', 16, ScanArguments);

// Flags: the pages that match are write-protected, if their mapping has an asynchronous userfaultfd; else the call fails.
constexpr uint64_t kScanProtectMatching = 1u << 0;
constexpr uint64_t kScanCheckAsync = 1u << 1;

constexpr uint64_t kPageIsWatched = 1u << 0;  // its mapping has such a userfaultfd
constexpr uint64_t kPageIsWritten = 1u << 1;  // it isn't write-protected by one
constexpr uint64_t kPageIsFile = 1u << 2;
constexpr uint64_t kPageIsPresent = 1u << 3;
constexpr uint64_t kPageIsSwapped = 1u << 4;
constexpr uint64_t kPageIsZeros = 1u << 5;

inline ScanArguments scan_arguments(base::AddressRange range) {
  ScanArguments arguments{};
  arguments.size = sizeof(arguments);
  arguments.start = range.begin;
  arguments.end = range.end;
  return arguments;
}

// Calls visit(region) for all pages that match, with as many calls as it takes. `file`: the process's pagemap. False: one failed, or
// goes_on() did before it. Where the kernel stops early, arguments.start is below its end afterwards.
template <typename GoesOn, typename Visit>
bool scan_pages(int file, ScanArguments& arguments, std::span<ScanRegion> room, const GoesOn& goes_on,
                const Visit& visit) {
  arguments.regions = reinterpret_cast<uint64_t>(room.data());
  arguments.region_count = room.size();
  while (arguments.start < arguments.end) {
    if (!goes_on()) return false;
    const int count = ioctl(file, kPagemapScan, &arguments);
    if (count < 0) return false;
    for (const ScanRegion& region : room.first(static_cast<size_t>(count))) visit(region);
    if (arguments.walk_end <= arguments.start) break;
    arguments.start = arguments.walk_end;
  }
  return true;
}

}  // namespace heaptap::process
