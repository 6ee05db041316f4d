// Watch for the end of a process that may be no child: by a pidfd, or, where the kernel provides none (before Linux
// 5.3, under some seccomp filters, without a free descriptor), by polling.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "common/base/unique_fd.h"
#include "common/base/wait_status.h"

namespace heaptap::process {

class ProcessWatch {
 public:
  explicit ProcessWatch(pid_t process);

  // Readable when the process has ended; -1: use has_ended().
  [[nodiscard]] int descriptor() const { return descriptor_.get(); }
  [[nodiscard]] bool has_ended() const;
  // How it has ended, but not with 0. None: unknown, or it hasn't. Before Linux 6.15 known only until its parent has asked for it.
  [[nodiscard]] std::optional<base::WaitStatus> end_status() const;

 private:
  pid_t process_;
  base::UniqueFd descriptor_;
  bool was_gone_ = false;
  uint64_t started_;  // to recognize another process with the same PID; 0: unknown
};

}  // namespace heaptap::process
