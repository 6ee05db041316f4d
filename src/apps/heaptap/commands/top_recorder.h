// Recording started by `heaptap top`. It always ends with this object, or with this process.
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

class TopRecorder {
 public:
  // `output`: path of the trace; empty: removed with this object.
  static base::Result<std::unique_ptr<TopRecorder>> attach_to(const MachineOptions& machine, uint32_t pid,
                                                              const std::string& output);
  static base::Result<std::unique_ptr<TopRecorder>> start(const MachineOptions& machine,
                                                          const std::vector<std::string>& command,
                                                          const std::string& output);
  TopRecorder(const TopRecorder&) = delete;
  TopRecorder& operator=(const TopRecorder&) = delete;
  // Ends the recording as Ctrl-C would, and waits: an attached process continues, a started program ends.
  ~TopRecorder();

  // Waits until recording has started. `wait`: pauses briefly; false: end requested. An error includes the recorder's output.
  base::Result<std::unique_ptr<client::Recording>> connect(const std::function<bool()>& wait);

 private:
  TopRecorder() = default;
  static base::Result<std::unique_ptr<TopRecorder>> begin(const MachineOptions& machine,
                                                          std::vector<std::string> arguments, uint32_t pid,
                                                          const std::string& output);
  base::Result<> choose_trace(const std::string& output);
  [[nodiscard]] int end_signal() const;  // that ends the recording
  [[nodiscard]] std::string said() const;

  std::string host_;       // of the process
  uint32_t pid_ = 0;       // the attached process; 0: a started program
  std::string directory_;  // of a temporary trace
  std::string trace_;
  base::UniqueFd output_;  // output of the recorder and a started program
  std::optional<BackgroundRecorder> recorder_;
};

}  // namespace heaptap::app
