#include "capture/scan/memory_copy.h"

#include <fcntl.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

#include "capture/process/open_files.h"
#include "capture/process/page_states.h"
#include "capture/process/process_status.h"
#include "capture/scan/copy_plan.h"
#include "capture/scan/kernel_words.h"
#include "common/arch/native.h"
#include "common/base/pages.h"
#include "common/base/process_file.h"
#include "common/base/sizes.h"
#include "common/base/small_file.h"
#include "common/base/status_file.h"
#include "common/base/unique_fd.h"

namespace heaptap::scan {
namespace {

using base::AddressRange;
using process::Mapping;

constexpr uint64_t kStepBytes = uint64_t{64} << 20;
constexpr size_t kUsualMaxMappings = 65530;
constexpr std::string_view kUserfault = "anon_inode:[userfaultfd]";

// A mapping that is watched isn't joined with new ones beside it. So a program that is near its limit might reach it.
base::Result<> check_mappings(size_t count) {
  const long limit = std::atol(base::read_small_file("/proc/sys/vm/max_map_count").c_str());
  const size_t most = limit > 0 ? static_cast<size_t>(limit) : kUsualMaxMappings;
  if (count <= most / 2) return {};
  return base::fail("it has {} mappings, and may have {} (vm.max_map_count)", count, most);
}

// Devices write into memory that they were given earlier without a page fault.
base::Result<> check_devices(pid_t thread) {
  const std::string status = base::read_small_file(base::process_file(thread, "status"), 8192);
  if (base::status_number(status, "VmPin").value_or(0) != 0) return base::fail("devices write into its memory");
  if (count_rings(thread) != 0)
    return base::fail("it has an io_uring, through which the kernel writes into its memory");
  if (process::has_open(thread, kUserfault)) return base::fail("it has a userfaultfd of its own");
  return {};
}

uint64_t bytes_to_copy(process::ProcessMemory& memory) {
  uint64_t bytes = 0;
  for (const Mapping& mapping : memory.map()) {
    if (!is_copied_early(mapping)) continue;
    for (const AddressRange& part : memory.touched_ranges(mapping.range.begin, mapping.range.end)) bytes += part.size();
  }
  return bytes;
}

// Of the program's half.
uint64_t end_of(const std::vector<Mapping>& map) {
  constexpr uint64_t kKernelsHalf = uint64_t{1} << 63;
  uint64_t end = 0;
  for (const Mapping& mapping : map) {
    if (mapping.range.end < kKernelsHalf) end = mapping.range.end;
  }
  return end;
}

std::vector<AddressRange> ranges_of(std::span<const CopiedRange> copied) {
  std::vector<AddressRange> ranges;
  for (const CopiedRange& each : copied) ranges.push_back(each.range);
  return ranges;
}

// Appends a copy, or joins it with the last one.
void append(const CopiedRange& part, std::vector<CopiedRange>& ranges) {
  if (!ranges.empty() && ranges.back().range.end == part.range.begin &&
      (part.bytes == nullptr ? ranges.back().bytes == nullptr
                             : ranges.back().bytes != nullptr && ranges.back().at(part.range.begin) == part.bytes)) {
    ranges.back().range.end = part.range.end;
  } else {
    ranges.push_back(part);
  }
}

// So that one system call takes each, and what can't be read costs no more than such a piece.
std::vector<CopiedRange> pieces_of(std::span<const CopiedRange> ranges) {
  constexpr uint64_t kPieceBytes = uint64_t{2} << 20;
  std::vector<CopiedRange> pieces;
  for (const CopiedRange& each : ranges) {
    for (uint64_t at = each.range.begin; at < each.range.end; at += kPieceBytes) {
      pieces.push_back({{at, std::min(at + kPieceBytes, each.range.end)}, each.at(at)});
    }
  }
  return pieces;
}

// Whole pages alone: a page of which only a part arrived isn't copied.
CopiedRange whole_pages_of(CopiedRange part) {
  part.range.end = base::page_begin(part.range.end);
  return part;
}

}  // namespace

base::Result<std::unique_ptr<MemoryCopy>> MemoryCopy::begin(process::WriteWatch& watch, pid_t process,
                                                            const Limits& limits) {
  const pid_t thread = process::find_live_thread(process);
  process::ProcessMemory memory(thread);
  const uint64_t bytes = bytes_to_copy(memory);
  if (bytes < limits.least_bytes) return nullptr;
  if (bytes > limits.most_bytes) {
    return base::fail("a copy of its memory, {} MiB, would take more than half of what is free here", bytes >> 20);
  }
  HEAPTAP_TRY(check_mappings(memory.map().size()));
  HEAPTAP_TRY(check_devices(thread));
  std::unique_ptr<MemoryCopy> copy(new MemoryCopy(watch));
  copy->files_ = ModuleFiles(thread, memory, arch::native::kArchitecture);
  if (!copy->files_.has_all(memory.map())) return base::fail("the file of some code in its memory can't be opened");
  const base::UniqueFd pagemap(open(base::process_file(thread, "pagemap").c_str(), O_RDONLY | O_CLOEXEC));
  for (const Mapping& mapping : memory.map()) {
    if (!is_copied_early(mapping)) continue;
    if (!copy->copy_mapping(thread, pagemap.get(), mapping, limits))
      return base::fail("a copy of it needs more memory than this machine gives");
  }
  return copy;
}

// False: no memory.
bool MemoryCopy::copy_mapping(pid_t thread, int pagemap, const Mapping& mapping, const Limits& limits) {
  if (!watch_.add(mapping.range)) return true;  // it is read later
  std::vector<AddressRange> watched;
  for (uint64_t at = mapping.range.begin; at < mapping.range.end; at += kStepBytes) {
    const AddressRange part{at, std::min(at + kStepBytes, mapping.range.end)};
    watched.clear();
    (void)watch_.begin(pagemap, part, watched);
    if (limits.is_watched_for_test) limits.is_watched_for_test(part);
    if (!copy_part(thread, watched)) return false;
  }
  return true;
}

bool MemoryCopy::copy_part(pid_t thread, std::span<const AddressRange> watched) {
  std::vector<CopiedRange> places;
  for (const AddressRange& range : watched) {
    uint8_t* const room = store_.take(range.size());
    if (room == nullptr) return false;
    places.push_back({range, room});
  }
  const auto done = [this](const CopiedRange& part) {
    const CopiedRange whole = whole_pages_of(part);
    if (whole.range.begin < whole.range.end) append(whole, copied_);
  };
  RangeReader(thread).read(pieces_of(places), done, [](const CopiedRange& /*part*/) {});  // that is read later
  return true;
}

base::Result<std::unique_ptr<CopiedMemory>> MemoryCopy::finish(const process::StoppedProcess& process,
                                                               bool& has_given_up) {
  const pid_t thread = process.live_thread();
  if (process.architecture() != arch::native::kArchitecture) return base::fail("it runs another program now");
  // Marks of its own would look like ours.
  if (process::has_open(thread, kUserfault)) return base::fail("it has a userfaultfd of its own");
  process::ProcessMemory memory(thread);
  if (!files_.has_all(memory.map())) return base::fail("it loaded a library in between");
  auto states = process::PageStates::read(thread, end_of(memory.map()));
  if (!states) return base::fail("the states of its pages can't be read");
  const CopyPlan plan = plan_copy(memory.map(), *states, ranges_of(copied_));
  std::vector<CopiedRange> ranges;
  uint64_t again_bytes = 0;
  for (const AddressRange& range : plan.read) again_bytes += range.size();
  if (!read_again(memory, thread, plan.read, ranges))
    return base::fail("a copy of it needs more memory than this machine gives");
  has_given_up = memory.has_given_up();
  for (const AddressRange& range : plan.kept) (void)place(range, ranges);
  std::ranges::sort(ranges, {}, [](const CopiedRange& each) { return each.range.begin; });
  return std::make_unique<CopiedMemory>(CopiedMemory::Parts{.map = memory.map(),
                                                            .states = *std::move(states),
                                                            .ranges = std::move(ranges),
                                                            .store = std::move(store_),
                                                            .files = std::move(files_),
                                                            .again_bytes = again_bytes});
}

// Appends the room for each part of the range: that of its earlier copy, or new one. False: no memory.
bool MemoryCopy::place(AddressRange range, std::vector<CopiedRange>& places) {
  auto known =
      std::ranges::upper_bound(copied_, range.begin, {}, [](const CopiedRange& each) { return each.range.end; });
  while (range.begin < range.end) {
    const bool is_known = known != copied_.end() && known->range.contains(range.begin);
    const uint64_t next = is_known ? known->range.end : known != copied_.end() ? known->range.begin : range.end;
    const AddressRange part{range.begin, std::min(range.end, next)};
    uint8_t* const room = is_known ? known->at(part.begin) : store_.take(part.size());
    if (room == nullptr) return false;
    append({part, room}, places);
    range.begin = part.end;
    if (is_known && range.begin == known->range.end) ++known;
  }
  return true;
}

bool MemoryCopy::read_again(const process::ProcessMemory& memory, pid_t thread, std::span<const AddressRange> ranges,
                            std::vector<CopiedRange>& result) {
  std::vector<CopiedRange> places;
  for (const AddressRange& range : ranges) {
    if (!place(range, places)) return false;
  }
  const auto done = [&result](const CopiedRange& part) { append(part, result); };
  // By all means, page by page.
  const auto failed = [&](const CopiedRange& part) {
    for (uint64_t at = part.range.begin; at < part.range.end;) {
      const uint64_t end = std::min(part.range.end, base::page_begin(at) + base::page_bytes());
      const auto wanted = base::size_of_known(end - at);
      const bool is_read = memory.read_some(at, part.at(at), wanted) == wanted;
      append({{at, end}, is_read ? part.at(at) : nullptr}, result);
      at = end;
    }
  };
  RangeReader(thread).read(pieces_of(places), done, failed);
  return true;
}

}  // namespace heaptap::scan
