// Another heaptap that records for this one (`heaptap attach` or `heaptap run`), in a session of its own: no key and no signal of this
// terminal reaches it, or a program that it starts. Ending it is the owner's matter.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "live/recording.h"

namespace heaptap::app {

class BackgroundRecorder {
 public:
  // `arguments`: behind `heaptap`. `output`: takes what it and a started program write. `end_signal`: that it gets when the thread that
  // started it ends, however that ends; none: it goes on. `more_variables`: of its environment, besides those of this process, or in their place.
  static base::Result<BackgroundRecorder> start(const std::vector<std::string>& arguments, int output,
                                                std::optional<int> end_signal,
                                                const std::vector<std::string>& more_variables = {});

  [[nodiscard]] uint32_t pid() const { return static_cast<uint32_t>(pid_); }
  // It is not waited for again then.
  bool has_ended();
  // Sends it the signal, and waits for its end.
  void end(int signal);

  // The recording that it makes, of whichever process; fails as long as there is none.
  [[nodiscard]] base::Result<std::unique_ptr<live::Recording>> connect() const;

 private:
  explicit BackgroundRecorder(pid_t pid) : pid_(pid) {}
  pid_t pid_;
  bool is_ended_ = false;
};

}  // namespace heaptap::app
