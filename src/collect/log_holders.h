// Processes that were forked by recorded ones and haven't asked for a log: they have their parent's, and may ask at any time. A daemon's
// parents end as soon as it is forked, and nothing else tells that it will be there.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "log/log_memory.h"
#include "process/process_watch.h"

namespace heaptap::collect {

class LogHolders {
 public:
  // A log that is handed out to the process, before its descriptor is closed.
  void add(pid_t process, const log::LogMemory& log);
  // The process was let go: whoever has its log is not to be recorded.
  void remove(pid_t process);
  // Looks for them, and after them: true while there may be some.
  bool are_there();
  // They have to be looked for anew.
  void forget() { held_.clear(); }

 private:
  using Clock = std::chrono::steady_clock;
  struct Holder {
    process::ProcessWatch watch;
    Clock::time_point seen;  // with a log
  };

  [[nodiscard]] bool has_log(pid_t process) const;
  void search();

  std::set<std::tuple<uint64_t, uint64_t, pid_t>> logs_;
  std::map<pid_t, Holder> held_;
};

}  // namespace heaptap::collect
