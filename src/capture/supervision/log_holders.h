// Processes that may still request a log: forked children of recorded processes that have their parent's log, until they
// first allocate, and programs that are being executed with the agent, until it is loaded. Found by polling: a daemon's
// parents exit as soon as it is forked, and nothing else announces it.
#pragma once
#include <poll.h>
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "capture/log/log_memory.h"
#include "capture/process/process_watch.h"

namespace heaptap::supervision {

class LogHolders {
 public:
  // `session`: of the agents, see AgentServer::session().
  explicit LogHolders(const std::string& session);

  // Adds a log handed out to the process, before its descriptor is closed.
  void add(pid_t process, const log::LogMemory& log);
  // The process was detached: processes with its log are not to be recorded.
  void remove(pid_t process);
  // Finds and checks them: true while there may be some.
  bool are_there();
  // The ends of those that are known.
  void add_waits(std::vector<pollfd>& waits) const;

 private:
  [[nodiscard]] bool may_ask(pid_t process) const;
  [[nodiscard]] bool has_log(pid_t process) const;
  [[nodiscard]] bool has_session(pid_t process) const;
  [[nodiscard]] std::vector<pid_t> possible_holders() const;
  void search();

  std::string session_entry_;  // in the environment of a program, until the agent removes it
  uint64_t since_;             // start of the first process that could be one, in the kernel's ticks
  std::set<std::tuple<uint64_t, uint64_t, pid_t>> logs_;
  std::map<pid_t, process::ProcessWatch> held_;
};

}  // namespace heaptap::supervision
