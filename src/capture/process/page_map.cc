#include "capture/process/page_map.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

#include "capture/process/page_scan_call.h"
#include "capture/process/present_pages.h"
#include "common/base/address_ranges.h"
#include "common/base/clock.h"
#include "common/base/pages.h"
#include "common/base/process_file.h"
#include "common/base/sizes.h"

namespace heaptap::process {
namespace {

constexpr uint64_t kNoDeadline = ~uint64_t{0};

base::AddressRange whole_pages(base::AddressRange range) {
  return {base::page_begin(range.begin), base::whole_pages(range.end)};
}

// Appends the pages that match. False: the call failed, or it is later than `deadline_ns`.
bool list(int file, ScanArguments& arguments, uint64_t deadline_ns, std::vector<base::AddressRange>& parts) {
  constexpr size_t kRegions = 512;
  ScanRegion regions[kRegions];
  const auto goes_on = [deadline_ns] {
    return deadline_ns == kNoDeadline || base::clock_ns(CLOCK_MONOTONIC) < deadline_ns;
  };
  return scan_pages(file, arguments, regions, goes_on,
                    [&parts](const ScanRegion& region) { base::append_joined({region.start, region.end}, parts); });
}

}  // namespace

PageMap::PageMap(pid_t thread)
    : file_(open(base::process_file(thread, "pagemap").c_str(), O_RDONLY | O_CLOEXEC)),
      way_(file_ ? Way::kScan : Way::kNone) {}

void PageMap::touched(base::AddressRange range, bool own_only, std::vector<base::AddressRange>& parts) {
  range = whole_pages(range);
  const size_t before = parts.size();
  const base::AddressRange last = parts.empty() ? base::AddressRange{} : parts.back();
  const auto undo = [&] {
    parts.resize(before);
    if (before != 0) parts.back() = last;
  };
  if (way_ == Way::kScan && !scan(range, own_only, parts)) {
    undo();
    way_ = Way::kEntries;
  }
  if (way_ == Way::kEntries && !read_entries(range, own_only, parts)) {
    undo();
    way_ = Way::kNone;
  }
  if (way_ == Way::kNone) base::append_joined(range, parts);
}

uint64_t PageMap::skip_untouched(base::AddressRange range) const {
  if (way_ != Way::kScan) return range.begin;
  ScanRegion first{};
  ScanArguments arguments = scan_arguments(whole_pages(range));
  arguments.regions = reinterpret_cast<uint64_t>(&first);
  arguments.region_count = 1;
  arguments.max_pages = 1;
  arguments.category_inverted = arguments.category_mask = kPageIsZeros;
  arguments.category_anyof_mask = kPageIsPresent | kPageIsSwapped;
  const int count = ioctl(file_.get(), kPagemapScan, &arguments);
  if (count < 0) return range.begin;
  return count == 0 ? range.end : std::clamp(first.start, range.begin, range.end);
}

bool PageMap::scan(base::AddressRange range, bool own_only, std::vector<base::AddressRange>& parts) const {
  ScanArguments arguments = scan_arguments(range);
  arguments.category_inverted = kPageIsZeros | (own_only ? kPageIsFile : 0);
  arguments.category_mask = arguments.category_inverted;
  arguments.category_anyof_mask = kPageIsPresent | kPageIsSwapped;
  return list(file_.get(), arguments, kNoDeadline, parts);
}

bool PageMap::present(base::AddressRange range, uint64_t deadline_ns, std::vector<base::AddressRange>& parts) const {
  constexpr uint64_t kMaxPages = uint64_t{1} << 18;  // a call: some milliseconds
  if (way_ != Way::kScan) return false;
  ScanArguments arguments = scan_arguments(whole_pages(range));
  arguments.max_pages = kMaxPages;
  arguments.category_inverted = kPageIsZeros;
  arguments.category_mask = kPageIsZeros | kPageIsPresent;
  return list(file_.get(), arguments, deadline_ns, parts);
}

bool PageMap::read_entries(base::AddressRange range, bool own_only, std::vector<base::AddressRange>& parts) const {
  constexpr size_t kMaxEntries = 65536;
  const uint64_t page_bytes = base::page_bytes();
  std::vector<uint64_t> entries(base::at_most(kMaxEntries, range.size() / page_bytes));
  for (uint64_t page = range.begin / page_bytes; page < range.end / page_bytes;) {
    const size_t wanted = base::at_most(entries.size(), range.end / page_bytes - page);
    const ssize_t got =
        pread(file_.get(), entries.data(), wanted * sizeof(uint64_t), static_cast<off_t>(page * sizeof(uint64_t)));
    if (got <= 0) return false;
    for (size_t i = 0; i < static_cast<size_t>(got) / sizeof(uint64_t); ++i, ++page) {
      if (is_untouched(entries[i]) || (own_only && (entries[i] & kEntryFile) != 0)) continue;
      base::append_joined({page * page_bytes, (page + 1) * page_bytes}, parts);
    }
  }
  return true;
}

}  // namespace heaptap::process
