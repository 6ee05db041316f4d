#include "process/memory_room.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "base/small_file.h"
#include "process/process_status.h"

namespace heaptap::process {
namespace {

std::optional<uint64_t> number_in(std::string_view text) {
  const size_t begin = std::min(text.find_first_of("0123456789"), text.size());
  uint64_t number = 0;
  const auto result = std::from_chars(text.data() + begin, text.data() + text.size(), number);
  return result.ec == std::errc() ? std::optional(number) : std::nullopt;
}

// The number behind the name at the beginning of a line.
std::optional<uint64_t> number_of(std::string_view text, std::string_view name) {
  for (size_t at = 0; at < text.size(); at = std::min(text.find('\n', at), text.size() - 1) + 1) {
    const std::string_view line = text.substr(at, text.find('\n', at) - at);
    if (line.starts_with(name)) return number_in(line.substr(name.size()));
  }
  return std::nullopt;
}

// What the group at this directory may still take. Pages of files that nobody used lately are given back first.
uint64_t room_in_group(const std::string& folder, const char* limit_file, const char* usage_file) {
  const auto limit = number_in(base::read_small_file(folder + "/" + limit_file));  // "max": none
  const auto used = number_in(base::read_small_file(folder + "/" + usage_file));
  if (!limit || !used) return UINT64_MAX;
  const uint64_t reclaimable = number_of(base::read_small_file(folder + "/memory.stat"), "inactive_file ").value_or(0);
  const uint64_t taken = *used - std::min(*used, reclaimable);
  return *limit - std::min(*limit, taken);
}

// Of a group and those that it is in.
uint64_t room_in_groups(const std::string& root, std::string path, const char* limit_file, const char* usage_file) {
  uint64_t room = UINT64_MAX;
  for (;;) {
    room = std::min(room, room_in_group(root + path, limit_file, usage_file));
    if (path.empty() || path == "/") return room;
    path.erase(path.rfind('/'));
  }
}

}  // namespace

uint64_t free_memory_for(pid_t process) {
  const auto available = number_of(base::read_small_file("/proc/meminfo"), "MemAvailable:");
  uint64_t room = available ? *available * 1024 : UINT64_MAX;
  const std::string groups = base::read_small_file("/proc/" + std::to_string(process) + "/cgroup");
  for (size_t at = 0; at < groups.size(); at = std::min(groups.find('\n', at), groups.size() - 1) + 1) {
    const std::string line = groups.substr(at, groups.find('\n', at) - at);  // number:controllers:path
    const size_t path = line.find(':', line.find(':') + 1);
    if (path == std::string::npos) continue;
    const std::string folder = line.substr(path + 1);
    if (line.starts_with("0::")) {
      room = std::min(room, room_in_groups("/sys/fs/cgroup", folder, "memory.max", "memory.current"));
    } else if (line.find(":memory:") != std::string::npos) {
      room = std::min(
          room, room_in_groups("/sys/fs/cgroup/memory", folder, "memory.limit_in_bytes", "memory.usage_in_bytes"));
    }
  }
  return room;
}

}  // namespace heaptap::process
