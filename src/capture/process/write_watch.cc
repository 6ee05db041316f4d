#include "capture/process/write_watch.h"

#include <linux/userfaultfd.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <span>
#include <utility>

#include "capture/process/page_scan_call.h"

namespace heaptap::process {
namespace {

// Linux include/uapi/linux/userfaultfd.h, since 6.7 (5.7, 6.4).
constexpr uint64_t kFeatureAsync = 1u << 15;
constexpr uint64_t kFeatureUnpopulated = 1u << 13;
constexpr uint64_t kModeProtect = 1u << 1;

}  // namespace

base::Result<WriteWatch> WriteWatch::create(base::UniqueFd userfault) {
  uffdio_api api{};
  api.api = UFFD_API;
  api.features = kFeatureAsync | kFeatureUnpopulated;
  if (ioctl(userfault.get(), UFFDIO_API, &api) != 0) {
    return base::fail("this kernel can't tell which pages a program writes (Linux 6.7 and later can)");
  }
  return WriteWatch(std::move(userfault));
}

bool WriteWatch::add(base::AddressRange part) {
  uffdio_register wanted{};
  wanted.range = {part.begin, part.size()};
  wanted.mode = kModeProtect;
  if (ioctl(userfault_.get(), UFFDIO_REGISTER, &wanted) != 0) return false;
  added_.push_back(part);
  return true;
}

bool WriteWatch::begin(int pagemap, base::AddressRange part, std::vector<base::AddressRange>& watched) const {
  constexpr size_t kRegions = 512;
  std::vector<ScanRegion> regions(kRegions);
  ScanArguments arguments = scan_arguments(part);
  arguments.flags = kScanProtectMatching | kScanCheckAsync;
  // No untouched page: protecting one would make page tables.
  arguments.category_inverted = kPageIsZeros | kPageIsFile;
  arguments.category_mask = kPageIsZeros | kPageIsFile;
  arguments.category_anyof_mask = kPageIsPresent | kPageIsSwapped;
  const bool is_done = scan_pages(
      pagemap, arguments, regions, [] { return true; },
      [&watched](const ScanRegion& region) { watched.push_back({region.start, region.end}); });
  return is_done && arguments.start >= arguments.end;
}

void WriteWatch::end() {
  constexpr uint64_t kStepBytes = uint64_t{64} << 20;  // some milliseconds
  for (const base::AddressRange& part : std::exchange(added_, {})) {
    for (uint64_t at = part.begin; at < part.end && userfault_; at += kStepBytes) {
      uffdio_range step{at, std::min(kStepBytes, part.end - at)};
      if (ioctl(userfault_.get(), UFFDIO_UNREGISTER, &step) != 0) userfault_.reset();
    }
  }
}

}  // namespace heaptap::process
