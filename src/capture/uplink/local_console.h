// Local control interface of heaptap-target for the recordings on its machine: `heaptap-target status`, `monitor`, `report`,
// `mark` and `clear`. Over a socket of mode 0600 in a private directory of this user: serves only this user and root.
//
//   client ▸ a line: figures | report [PID] | mark NAME | clear [PID]
//          ◂ figures: a line for the host (LocalHost), and one per process (LocalFigures); report: LocalHost; mark, clear:
//            nothing; on failure, "error: …"; then end of file
#pragma once
#include <poll.h>

#include <chrono>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "capture/supervision/recorded_processes.h"
#include "capture/uplink/line_to_host.h"
#include "common/base/result.h"
#include "common/base/unique_fd.h"
#include "common/endpoint/socket_file.h"

namespace heaptap::uplink {

// Figures of one process as a line of the answer, separated by tabs.
struct LocalFigures {
  uint64_t pid = 0;
  uint64_t events = 0;
  uint64_t lost_events = 0;
  uint64_t log_used_bytes = 0;
  uint64_t log_limit_bytes = 0;
  uint64_t resident_bytes = 0;
  uint64_t time_ns = 0;  // since the start of its recording
  std::string via;
  std::string program;

  [[nodiscard]] std::string to_line() const;
  // None: no such line.
  static std::optional<LocalFigures> of_line(std::string_view line);
};

// State of the host as a line of the answer.
struct LocalHost {
  bool is_file = false;   // no host, and none will come
  std::string peer = {};  // empty: not connected
  uint64_t waiting_bytes = 0;

  [[nodiscard]] std::string to_line() const;
  static std::optional<LocalHost> of_line(std::string_view line);
};

class LocalConsole {
 public:
  static constexpr std::string_view kPrefix = "target.";  // of the socket's name, followed by the PID of the listener
  static constexpr std::string_view kSuffix = ".sock";
  static constexpr std::string_view kError = "error: ";

  // `host`: null for a recording into a file. If no socket can be created, there is no console; the recording doesn't depend on it.
  LocalConsole(supervision::RecordedProcesses& processes, LineToHost* host);

  void add_waits(std::vector<pollfd>& waits) const;
  // Processes requests and answers. Never waits.
  void serve();

 private:
  struct Client {
    base::UniqueFd connection;
    std::chrono::steady_clock::time_point since;
    std::string line = {};
  };
  void accept_clients();
  // False: finished.
  bool hear(Client& client);
  std::string answer(std::string_view line);
  [[nodiscard]] LocalHost host() const;
  [[nodiscard]] std::string figures() const;
  base::Result<std::string> report(std::string_view process);
  base::Result<std::string> mark(model::MarkKind kind, std::string_view process, const std::string& name);
  // Processes of that PID; empty: all.
  base::Result<std::vector<supervision::RecordedProcess*>> named(std::string_view process);

  supervision::RecordedProcesses& processes_;
  LineToHost* const host_;
  std::optional<endpoint::SocketFile> file_;
  std::list<Client> clients_;
};

}  // namespace heaptap::uplink
