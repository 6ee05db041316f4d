#include "capture/process/page_states.h"

#include <fcntl.h>

#include <algorithm>
#include <cstddef>

#include "capture/process/page_scan_call.h"
#include "common/base/address_ranges.h"
#include "common/base/pages.h"
#include "common/base/process_file.h"
#include "common/base/unique_fd.h"

namespace heaptap::process {
namespace {

PageRun run_of(const ScanRegion& region) {
  const auto has = [&](uint64_t category) { return (region.categories & category) != 0; };
  return {.range = {region.start, region.end},
          .is_present = has(kPageIsPresent),
          .is_file = has(kPageIsFile),
          .is_zeros = has(kPageIsZeros),
          .is_watched = has(kPageIsWatched),
          .is_written = has(kPageIsWritten)};
}

}  // namespace

std::optional<PageStates> PageStates::read(pid_t thread, uint64_t end) {
  constexpr size_t kRegions = 4096;
  const base::UniqueFd file(open(base::process_file(thread, "pagemap").c_str(), O_RDONLY | O_CLOEXEC));
  std::vector<ScanRegion> regions(kRegions);
  std::vector<PageRun> runs;
  ScanArguments arguments = scan_arguments({0, end});
  arguments.category_anyof_mask = kPageIsPresent | kPageIsSwapped;
  arguments.return_mask =
      kPageIsWatched | kPageIsWritten | kPageIsFile | kPageIsPresent | kPageIsSwapped | kPageIsZeros;
  const bool is_done = scan_pages(
      file.get(), arguments, regions, [] { return true; },
      [&runs](const ScanRegion& region) { runs.push_back(run_of(region)); });
  if (!is_done || arguments.start < arguments.end) return std::nullopt;
  return PageStates(std::move(runs));
}

std::span<const PageRun> PageStates::from(uint64_t address) const {
  const auto first = std::ranges::upper_bound(runs_, address, {}, [](const PageRun& run) { return run.range.end; });
  return {first, runs_.end()};
}

template <typename Is>
void PageStates::append_if(base::AddressRange range, Is is, std::vector<base::AddressRange>& parts) const {
  range = {base::page_begin(range.begin), base::whole_pages(range.end)};
  for (const PageRun& run : from(range.begin)) {
    if (run.range.begin >= range.end) break;
    if (!is(run)) continue;
    base::append_joined({std::max(run.range.begin, range.begin), std::min(run.range.end, range.end)}, parts);
  }
}

void PageStates::touched(base::AddressRange range, bool own_only, std::vector<base::AddressRange>& parts) const {
  append_if(range, [own_only](const PageRun& run) { return !run.is_zeros && !(own_only && run.is_file); }, parts);
}

uint64_t PageStates::skip_untouched(base::AddressRange range) const {
  for (const PageRun& run : from(range.begin)) {
    if (!run.is_zeros) return std::clamp(run.range.begin, range.begin, range.end);
  }
  return range.end;
}

void PageStates::present(base::AddressRange range, std::vector<base::AddressRange>& parts) const {
  append_if(range, [](const PageRun& run) { return run.is_present && !run.is_zeros; }, parts);
}

}  // namespace heaptap::process
