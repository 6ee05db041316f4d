// What is asked and said on the target's own machine about the recordings that run there: `heaptap-target status`, `monitor`, `report`,
// `mark` and `clear`. Over a socket of mode 0600 in a folder of this user's own: it answers this user and root alone.
//
//   client ▸ a line: figures | report [PID] | mark NAME | clear [PID]
//          ◂ figures: a line of the host (LocalHost), and one of each process (LocalFigures); report: LocalHost; mark, clear:
//            nothing; where it can't be done, "error: …"; and the end
#pragma once
#include <poll.h>

#include <chrono>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "collect/recorded_processes.h"
#include "control/socket_file.h"
#include "remote/host_line.h"

namespace heaptap::remote {

// The figures of one process as they stand in a line of the answer, with tabs between them.
struct LocalFigures {
  uint64_t pid = 0;
  uint64_t events = 0;
  uint64_t lost_events = 0;
  uint64_t log_used_bytes = 0;
  uint64_t log_limit_bytes = 0;
  uint64_t resident_bytes = 0;
  uint64_t time_ns = 0;  // since it is recorded
  std::string via;
  std::string program;

  [[nodiscard]] std::string to_line() const;
  // None: it is no such line.
  static std::optional<LocalFigures> of_line(std::string_view line);
};

// The same of the host.
struct LocalHost {
  bool is_file = false;   // there is none, and none comes
  std::string peer = {};  // empty: none is here now
  uint64_t waiting_bytes = 0;

  [[nodiscard]] std::string to_line() const;
  static std::optional<LocalHost> of_line(std::string_view line);
};

class LocalConsole {
 public:
  static constexpr std::string_view kPrefix = "target.";  // of the socket's name; behind it the pid of who listens
  static constexpr std::string_view kSuffix = ".sock";
  static constexpr std::string_view kError = "error: ";

  // `host`: null, it goes into a file. Where no socket can be made, nobody can ask; the recording doesn't depend on it.
  LocalConsole(collect::RecordedProcesses& processes, HostLine* host);

  void add_waits(std::vector<pollfd>& waits) const;
  // Takes what is asked, and answers. Never waits.
  void serve();

 private:
  struct Client {
    base::UniqueFd connection;
    std::chrono::steady_clock::time_point since;
    std::string line = {};
  };
  void accept_clients();
  // False: it is done with.
  bool hear(Client& client);
  std::string answer(std::string_view line);
  [[nodiscard]] LocalHost host() const;
  [[nodiscard]] std::string figures() const;
  base::Result<std::string> report(std::string_view process);
  base::Result<std::string> mark(model::MarkKind kind, std::string_view process, const std::string& name);
  // Those of that number; empty: all.
  base::Result<std::vector<collect::RecordedProcess*>> named(std::string_view process);

  collect::RecordedProcesses& processes_;
  HostLine* const host_;
  std::optional<control::SocketFile> file_;
  std::list<Client> clients_;
};

}  // namespace heaptap::remote
