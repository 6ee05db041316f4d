#include "capture/process/memory_room.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "capture/process/control_group.h"
#include "capture/process/process_status.h"
#include "common/base/process_file.h"
#include "common/base/small_file.h"

namespace heaptap::process {
namespace {

std::optional<uint64_t> number_in(std::string_view text) {
  const size_t begin = std::min(text.find_first_of("0123456789"), text.size());
  uint64_t number = 0;
  const auto result = std::from_chars(text.data() + begin, text.data() + text.size(), number);
  return result.ec == std::errc() ? std::optional(number) : std::nullopt;
}

// The number after the name at the start of a line.
std::optional<uint64_t> number_of(std::string_view text, std::string_view name) {
  for (size_t at = 0; at < text.size(); at = std::min(text.find('\n', at), text.size() - 1) + 1) {
    const std::string_view line = text.substr(at, text.find('\n', at) - at);
    if (line.starts_with(name)) return number_in(line.substr(name.size()));
  }
  return std::nullopt;
}

struct GroupFiles {
  const char* root;
  const char* limit;
  const char* usage;
};
constexpr GroupFiles kUnified{"/sys/fs/cgroup", "memory.max", "memory.current"};
constexpr GroupFiles kOfMemory{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"};

// Available memory of one group. The kernel reclaims inactive file pages first, so they count as available.
MemoryRoom room_in_group(const GroupFiles& files, const std::string& group) {
  const std::string directory = files.root + group + "/";
  const auto limit = number_in(base::read_small_file(directory + files.limit));  // "max": none
  const auto used = number_in(base::read_small_file(directory + files.usage));
  if (!limit || !used) return {};
  const uint64_t reclaimable =
      number_of(base::read_small_file(directory + "memory.stat"), "inactive_file ").value_or(0);
  const uint64_t taken = *used - std::min(*used, reclaimable);
  return {.free_bytes = *limit - std::min(*limit, taken), .group = group.empty() ? "/" : group, .limit_bytes = *limit};
}

// For a group and all its parents.
void narrow(MemoryRoom& room, const GroupFiles& files, const std::string& group) {
  for_each_up(group, [&](const std::string& path) {
    MemoryRoom here = room_in_group(files, path);
    if (here.free_bytes < room.free_bytes) room = std::move(here);
  });
}

}  // namespace

MemoryRoom free_memory_for(pid_t process) {
  MemoryRoom room;
  const auto available = number_of(base::read_small_file("/proc/meminfo"), "MemAvailable:");
  if (available) room.free_bytes = *available * 1024;
  const std::string groups = base::read_small_file(base::process_file(process, "cgroup"));
  for (const ControlGroup& group : control_groups_in(groups)) {
    if (group.is_unified) {
      narrow(room, kUnified, group.path);
    } else if (is_listed(group.controllers, "memory")) {
      narrow(room, kOfMemory, group.path);
    }
  }
  return room;
}

}  // namespace heaptap::process
