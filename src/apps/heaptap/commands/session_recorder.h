// Recording that a command starts for itself (`heaptap top`, `console`, `leaks`). It always ends with this object, or with this process.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/heaptap/commands/background_recorder.h"
#include "apps/heaptap/options/machine_options.h"
#include "common/base/result.h"
#include "common/base/unique_fd.h"
#include "views/client/recording.h"

namespace heaptap::app {

// Where temporary traces are: TMPDIR, or the usual one.
std::string temporary_directory();

// The process's recording; null: nobody records it. Fails if another user does, if the recorder doesn't answer, if another
// process has taken the recording's name, or if heaptap-target records a process of this machine for another one.
base::Result<std::unique_ptr<client::Recording>> recording_of(const MachineOptions& machine, uint32_t pid);

// After a SessionRecorder has failed to attach: the recording that another heaptap has begun just before. Else the failure.
base::Result<std::unique_ptr<client::Recording>> recording_instead(const MachineOptions& machine, uint32_t pid,
                                                                   const base::Error& failure);

class SessionRecorder {
 public:
  struct Plan {
    std::string output = {};  // path of the trace; empty: see keeps_trace
    bool keeps_trace =
        false;  // without `output`: under the name that `heaptap attach` chooses, else removed with this object
    bool scans_at_end = false;  // of an attached process; a kept trace has always a scan
  };
  static base::Result<std::unique_ptr<SessionRecorder>> attach_to(const MachineOptions& machine, uint32_t pid,
                                                                  const Plan& plan);
  static base::Result<std::unique_ptr<SessionRecorder>> start(const MachineOptions& machine,
                                                              const std::vector<std::string>& command,
                                                              const Plan& plan);
  SessionRecorder(const SessionRecorder&) = delete;
  SessionRecorder& operator=(const SessionRecorder&) = delete;
  // As end().
  ~SessionRecorder();

  static constexpr int kMsBetweenTries = 50;  // of connect(): a wait
  // Waits until recording has started. `wait`: pauses briefly; false: end requested. An error includes the recorder's output.
  base::Result<std::unique_ptr<client::Recording>> connect(const std::function<bool()>& wait);

  // Path of a trace whose name is that of a recorded program (client::Process::trace).
  [[nodiscard]] std::string path_of(const std::string& name) const;

  bool has_ended() { return recorder_->has_ended(); }
  // Ends the recording as Ctrl-C would, and waits: an attached process continues, a started program ends.
  void end();

 private:
  SessionRecorder() = default;
  static base::Result<std::unique_ptr<SessionRecorder>> begin(const MachineOptions& machine,
                                                              std::vector<std::string> arguments, uint32_t pid,
                                                              const Plan& plan);
  base::Result<> choose_trace(const Plan& plan);
  [[nodiscard]] base::Result<std::unique_ptr<client::Recording>> try_to_connect() const;
  [[nodiscard]] int end_signal() const;  // that ends the recording
  // End of what the recorder and a started program have printed.
  [[nodiscard]] std::string said() const;

  std::string host_;       // of the process
  uint32_t pid_ = 0;       // the attached process; 0: a started program
  std::string directory_;  // of a temporary trace
  std::string trace_;      // empty: the recorder chooses it
  base::UniqueFd output_;  // output of the recorder and a started program
  std::optional<BackgroundRecorder> recorder_;
};

}  // namespace heaptap::app
