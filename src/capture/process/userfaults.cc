#include "capture/process/userfaults.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <string>

#include "capture/process/open_files.h"
#include "capture/process/process_status.h"
#include "common/base/process_file.h"
#include "common/base/small_file.h"

namespace heaptap::process {
namespace {

constexpr std::chrono::milliseconds kValid{100};

// "BEGIN-END PERMISSIONS …"; empty: not such a line.
base::AddressRange mapping_of(std::string_view line) {
  base::AddressRange range{};
  const char* const end = line.end();
  const auto begin = std::from_chars(line.begin(), end, range.begin, 16);
  if (begin.ec != std::errc{} || begin.ptr == end || *begin.ptr != '-') return {};
  if (std::from_chars(begin.ptr + 1, end, range.end, 16).ec != std::errc{}) return {};
  return range;
}

}  // namespace

// `um`, `uw`, `ui` among the flags (Documentation/filesystems/proc.rst).
std::vector<base::AddressRange> parse_userfault_ranges(std::string_view smaps) {
  constexpr std::string_view kFlags = "VmFlags:";
  std::vector<base::AddressRange> ranges;
  base::AddressRange mapping{};
  while (!smaps.empty()) {
    const std::string_view line = smaps.substr(0, smaps.find('\n'));
    smaps.remove_prefix(std::min(smaps.size(), line.size() + 1));
    if (const base::AddressRange next = mapping_of(line); next.end > next.begin) mapping = next;
    if (!line.starts_with(kFlags) || mapping.end == 0) continue;
    const std::string flags = std::string(line.substr(kFlags.size())) + " ";
    const bool is_filled = std::ranges::any_of(std::array{" um ", " uw ", " ui "},
                                               [&](const char* flag) { return flags.find(flag) != std::string::npos; });
    if (is_filled) ranges.push_back(mapping);
  }
  return ranges;
}

std::vector<base::AddressRange> read_userfault_ranges(pid_t live_thread) {
  if (!has_open(live_thread, "anon_inode:[userfaultfd]")) return {};
  constexpr size_t kMaxSmapsBytes = size_t{64} << 20;
  return parse_userfault_ranges(base::read_small_file(base::process_file(live_thread, "smaps"), kMaxSmapsBytes));
}

Userfaults::Userfaults(pid_t thread) {
  const auto status = read_thread_status(thread);
  process_ = status ? status->process : thread;
}

void Userfaults::read_again() {
  if (read_at_ != Clock::time_point{} && Clock::now() - read_at_ <= kValid) return;
  const pid_t thread = find_live_thread(process_);
  ranges_ = read_userfault_ranges(thread);
  map_ = read_memory_map(thread);
  read_at_ = Clock::now();
}

pid_t Userfaults::thread_for_file(uint64_t address) {
  read_again();
  const Mapping* const mapping = find_mapping(map_, address);
  return mapping != nullptr && !mapping->is_of_file_system() ? 0 : find_live_thread(process_);
}

bool Userfaults::covers(uint64_t address) {
  read_again();
  return std::ranges::any_of(ranges_, [&](const base::AddressRange& range) { return range.contains(address); });
}

}  // namespace heaptap::process
