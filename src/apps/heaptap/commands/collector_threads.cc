#include "apps/heaptap/commands/collector_threads.h"

#include <sched.h>

#include <algorithm>
#include <thread>

#include "capture/process/control_group.h"
#include "common/base/small_file.h"
#include "common/base/whole_number.h"

namespace heaptap::app {
namespace {

constexpr unsigned kMaxByItself = 4;

// Of one group; 0: no limit.
using GroupLimit = std::function<uint64_t(const std::string& directory)>;

uint64_t whole_processors(const std::string& quota, const std::string& period) {
  const auto time = base::whole_number<uint64_t>(quota);  // "max" and -1: no limit
  const auto of = base::whole_number<uint64_t>(period);
  return time && of && *of > 0 ? std::max<uint64_t>(*time / *of, 1) : 0;
}

// Of a group and all its parents, the least.
uint64_t least_limit(const std::string& root, const std::string& group, const GroupLimit& limit_of) {
  uint64_t least = 0;
  process::for_each_up(group, [&](const std::string& path) {
    const uint64_t limit = limit_of(root + path + "/");
    if (limit > 0 && (least == 0 || limit < least)) least = limit;
  });
  return least;
}

unsigned affine_processors() {
  cpu_set_t processors;
  if (sched_getaffinity(0, sizeof(processors), &processors) == 0) return static_cast<unsigned>(CPU_COUNT(&processors));
  return std::thread::hardware_concurrency();  // more than such a mask has
}

}  // namespace

unsigned usable_processors(unsigned affine, const std::function<std::string(const std::string& path)>& read) {
  const GroupLimit unified = [&read](const std::string& directory) {
    const auto words = base::words_of(read(directory + "cpu.max"));
    return words.size() == 2 ? whole_processors(words[0], words[1]) : 0;
  };
  const GroupLimit of_cpu = [&read](const std::string& directory) {
    const std::string quota = read(directory + "cpu.cfs_quota_us");
    const std::string period = read(directory + "cpu.cfs_period_us");
    return whole_processors(std::string(base::trimmed(quota)), std::string(base::trimmed(period)));
  };
  uint64_t processors = std::max(affine, 1u);
  for (const process::ControlGroup& group : process::control_groups_in(read("/proc/self/cgroup"))) {
    uint64_t limit = 0;
    if (group.is_unified) {
      limit = least_limit("/sys/fs/cgroup", group.path, unified);
    } else if (process::is_listed(group.controllers, "cpu")) {
      limit = least_limit("/sys/fs/cgroup/cpu", group.path, of_cpu);
    }
    if (limit > 0) processors = std::min(processors, limit);
  }
  return static_cast<unsigned>(processors);
}

unsigned collector_threads(unsigned asked) {
  if (asked > 0) return asked;
  const auto read = [](const std::string& path) { return base::read_small_file(path); };
  return std::clamp(usable_processors(affine_processors(), read) / 2, 1u, kMaxByItself);
}

}  // namespace heaptap::app
