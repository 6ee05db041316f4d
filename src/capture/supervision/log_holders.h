// Forked children of recorded processes that still have their parent's log and may request their own at any time. Found
// by polling: a daemon's parents exit as soon as it is forked, and nothing else announces it.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "capture/log/log_memory.h"
#include "capture/process/process_watch.h"

namespace heaptap::supervision {

class LogHolders {
 public:
  // Adds a log handed out to the process, before its descriptor is closed.
  void add(pid_t process, const log::LogMemory& log);
  // The process was detached: processes with its log are not to be recorded.
  void remove(pid_t process);
  // Finds and checks them: true while there may be some.
  bool are_there();
  // Forces a new search.
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

}  // namespace heaptap::supervision
