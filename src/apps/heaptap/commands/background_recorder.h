// Background heaptap process that records for this one (`heaptap attach` or `heaptap run`), in a session of its own, so that neither it nor
// a program it starts gets keys or signals of this terminal. The owner must end it.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "views/client/recording.h"

namespace heaptap::app {

class BackgroundRecorder {
 public:
  // `arguments`: after `heaptap`. `output`: for output of the recorder and a started program. `end_signal`: its parent-death signal, sent
  // when the starting thread ends; none: it continues. `more_variables`: added to or replacing this process's environment.
  static base::Result<BackgroundRecorder> start(const std::vector<std::string>& arguments, int output,
                                                std::optional<int> end_signal,
                                                const std::vector<std::string>& more_variables = {});

  [[nodiscard]] uint32_t pid() const { return static_cast<uint32_t>(pid_); }
  // Once true, its exit status has been collected.
  bool has_ended();
  // Sends the signal, and waits for its end.
  void end(int signal);

  // Its recording, of whichever process; fails until there is one.
  [[nodiscard]] base::Result<std::unique_ptr<client::Recording>> connect() const;

 private:
  explicit BackgroundRecorder(pid_t pid) : pid_(pid) {}
  pid_t pid_;
  bool is_ended_ = false;
};

}  // namespace heaptap::app
