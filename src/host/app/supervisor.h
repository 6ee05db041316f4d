// Watches over the program that was started and, where that was asked for, over what it forks and executes: gives their
// agents logs, drains these, and ends each recording when its process is gone.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "host/app/control_socket.h"
#include "host/app/recording.h"
#include "host/base/result.h"
#include "target/agent_server.h"
#include "target/ending_desk.h"
#include "target/launch.h"

namespace heaptap::app {

struct SupervisorOptions {
  target::LogOptions log;
  std::string output;  // pattern of the traces' names; empty: by default
  bool overwrite = false;
  std::vector<std::string> command;  // of the program that is started
  std::string executable;
};

struct FinishedTrace {
  std::string path;
  uint32_t pid = 0;
  std::string failure;  // why it couldn't be written, or not to its end
};

class Supervisor {
 public:
  Supervisor(SupervisorOptions options, target::AgentServer& server) : options_(std::move(options)), server_(server) {}
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // Stays until the program and all that is recorded with it have ended. Gives the program's wait status.
  int watch(const target::Launched& program);

  // The program's own trace comes first.
  [[nodiscard]] const std::vector<FinishedTrace>& traces() const { return traces_; }

 private:
  struct Process {
    pid_t pid = 0;
    int descriptor = -1;  // pidfd
    std::unique_ptr<Recording> recording;
    std::unique_ptr<ControlSocket> control;
  };

  void wait_for_news();
  void accept_agents();
  void begin(const target::AgentRequest& request);
  void drain();
  void look_at_endings();
  // The process comes to its end and waits. Whatever takes long calls show_progress().
  void scan_at_end(Process& process, const wire::EndingNotice& notice);
  // `heaptap leaks` asks for a scan.
  void answer_calls();
  // Tells all programs that wait that this one is at work.
  void show_progress();
  std::jthread keep_showing_progress();
  void end_processes();
  void end(Process& process, const model::ExitStatus& exit);
  model::Capture describe(const wire::Hello& hello, pid_t pid) const;
  base::Result<std::unique_ptr<Recording>> make_recording(const model::Capture& capture);

  SupervisorOptions options_;
  target::AgentServer& server_;
  target::EndingBell bell_;
  target::Launched program_;
  int program_status_ = 0;
  bool program_ended_ = false;
  std::vector<Process> processes_;
  std::vector<FinishedTrace> traces_;
  std::set<std::string> used_paths_;
  int pause_ms_ = 1;
};

}  // namespace heaptap::app
