#include "capture/supervision/log_holders.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "capture/process/memory_map.h"
#include "capture/process/process_status.h"
#include "common/base/small_file.h"
#include "common/base/whole_number.h"

namespace heaptap::supervision {
namespace {

// As long as an agent in a program that is executed may take to ask.
constexpr std::chrono::seconds kMaxSilence{5};

std::vector<pid_t> all_processes() {
  std::vector<pid_t> processes;
  DIR* const folder = opendir("/proc");
  if (folder == nullptr) return processes;
  while (const dirent* entry = readdir(folder)) {
    const std::string_view name = entry->d_name;
    const auto pid = base::whole_number<pid_t>(name);
    if (pid && *pid != getpid()) processes.push_back(*pid);
  }
  closedir(folder);
  std::ranges::sort(processes);
  return processes;
}

}  // namespace

void LogHolders::add(pid_t process, const log::LogMemory& log) {
  struct stat facts{};
  if (fstat(log.descriptor(), &facts) == 0) logs_.emplace(facts.st_dev, facts.st_ino, process);
}

void LogHolders::remove(pid_t process) {
  std::erase_if(logs_, [process](const auto& log) { return std::get<pid_t>(log) == process; });
}

bool LogHolders::has_log(pid_t process) const {
  const std::string text = base::read_small_file("/proc/" + std::to_string(process) + "/maps");
  if (!text.contains(log::kLogName)) return false;
  const std::vector<process::Mapping> mappings = process::parse_memory_map(text);
  return std::ranges::any_of(mappings, [this](const process::Mapping& mapping) {
    const auto log = logs_.lower_bound({mapping.device, mapping.inode, 0});
    return mapping.shared && log != logs_.end() && std::get<0>(*log) == mapping.device &&
           std::get<1>(*log) == mapping.inode;
  });
}

// Who was looked at, and ended then, may have forked another one behind the back of this.
void LogHolders::search() {
  constexpr int kMaxRounds = 8;
  bool is_sure = false;
  for (int round = 0; round < kMaxRounds && !is_sure; ++round) {
    const std::vector<pid_t> before = all_processes();
    for (const pid_t process : before) {
      if (!held_.contains(process) && has_log(process)) {
        held_.emplace(process, Holder{process::ProcessWatch(process), Clock::now()});
      }
    }
    const std::vector<pid_t> after = all_processes();
    is_sure = std::ranges::includes(after, before) || !held_.empty();
  }
}

bool LogHolders::are_there() {
  const Clock::time_point now = Clock::now();
  for (auto each = held_.begin(); each != held_.end();) {
    auto& [process, holder] = *each;
    if (has_log(process)) holder.seen = now;
    const bool is_gone = holder.watch.has_ended() || now - holder.seen > kMaxSilence;
    each = is_gone ? held_.erase(each) : std::next(each);
  }
  if (held_.empty() && !logs_.empty()) search();
  return !held_.empty();
}

}  // namespace heaptap::supervision
