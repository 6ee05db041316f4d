#include "capture/supervision/log_holders.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "capture/process/memory_map.h"
#include "capture/process/process_status.h"
#include "capture/process/stat_line.h"
#include "common/base/process_file.h"
#include "common/base/small_file.h"
#include "common/base/unique_fd.h"
#include "common/base/whole_number.h"
#include "common/wire/handshake.h"

namespace heaptap::supervision {
namespace {

std::vector<pid_t> all_processes() {
  std::vector<pid_t> processes;
  DIR* const directory = opendir("/proc");
  if (directory == nullptr) return processes;
  while (const dirent* entry = readdir(directory)) {
    const std::string_view name = entry->d_name;
    const auto pid = base::whole_number<pid_t>(name);
    if (pid && *pid != getpid()) processes.push_back(*pid);
  }
  closedir(directory);
  std::ranges::sort(processes);
  return processes;
}

// Whether the kernel has given it new memory, but no environment so far.
bool is_in_exec(pid_t process) {
  using process::StatLine;
  constexpr uint64_t kKernelThread = 0x00200000;  // PF_KTHREAD
  const StatLine stat = StatLine::of(process);
  const std::string_view state = stat.text(StatLine::kState);
  const bool has_memory =
      state != "Z" && state != "X" && (stat.number(StatLine::kFlags).value_or(0) & kKernelThread) == 0;
  if (!has_memory || stat.number(StatLine::kEnvironmentEnd) != 0) return false;
  // The kernel shows zero to those who may not know it as well.
  return base::UniqueFd(open(base::process_file(process, "environ").c_str(), O_RDONLY | O_CLOEXEC)).get() >= 0;
}

}  // namespace

LogHolders::LogHolders(const std::string& session)
    : session_entry_(std::string(wire::kSessionVariable) + "=" + session), since_(process::read_start_time(getpid())) {}

void LogHolders::add(pid_t process, const log::LogMemory& log) {
  since_ = std::min(since_, process::read_start_time(process));
  struct stat facts{};
  if (fstat(log.descriptor(), &facts) == 0) logs_.emplace(facts.st_dev, facts.st_ino, process);
}

void LogHolders::remove(pid_t process) {
  std::erase_if(logs_, [process](const auto& log) { return std::get<pid_t>(log) == process; });
}

bool LogHolders::has_log(pid_t process) const {
  const std::string text = base::read_small_file(base::process_file(process, "maps"));
  if (!text.contains(log::kLogName)) return false;
  const std::vector<process::Mapping> mappings = process::parse_memory_map(text);
  return std::ranges::any_of(mappings, [this](const process::Mapping& mapping) {
    const auto log = logs_.lower_bound({mapping.device, mapping.inode, 0});
    return mapping.shared && log != logs_.end() && std::get<0>(*log) == mapping.device &&
           std::get<1>(*log) == mapping.inode;
  });
}

bool LogHolders::has_session(pid_t process) const {
  return base::read_small_file(base::process_file(process, "environ")).contains(session_entry_);
}

// In the order in which a process passes through these states: none is missed between two of the checks.
bool LogHolders::may_ask(pid_t process) const {
  return has_log(process) || is_in_exec(process) || has_session(process);
}

std::vector<pid_t> LogHolders::possible_holders() const {
  std::vector<pid_t> processes = all_processes();
  std::erase_if(processes, [this](pid_t process) { return process::read_start_time(process) < since_; });
  return processes;
}

// A process that was checked and then ended may have forked another one since.
void LogHolders::search() {
  constexpr int kMaxLooks = 8;
  bool is_sure = false;
  for (int look = 0; look < kMaxLooks && !is_sure; ++look) {
    const std::vector<pid_t> before = possible_holders();
    for (const pid_t process : before) {
      if (may_ask(process)) held_.try_emplace(process, process);
    }
    is_sure = std::ranges::includes(possible_holders(), before) || !held_.empty();
  }
}

bool LogHolders::are_there() {
  std::erase_if(held_, [this](const auto& each) {
    const auto& [process, watch] = each;
    return watch.has_ended() || !may_ask(process);
  });
  if (held_.empty() && !logs_.empty()) search();
  return !held_.empty();
}

void LogHolders::add_waits(std::vector<pollfd>& waits) const {
  for (const auto& [process, watch] : held_) waits.push_back({watch.descriptor(), POLLIN, 0});
}

}  // namespace heaptap::supervision
