// Watch for the end of a process that may be no child: by a pidfd, or, where the kernel provides none (before Linux
// 5.3, under some seccomp filters, without a free descriptor), by polling.
#pragma once
#include <sys/types.h>

#include <cstdint>

#include "common/base/unique_fd.h"

namespace heaptap::process {

class ProcessWatch {
 public:
  explicit ProcessWatch(pid_t process);

  // Readable when the process has ended; -1: use has_ended().
  [[nodiscard]] int descriptor() const { return descriptor_.get(); }
  [[nodiscard]] bool has_ended() const;

 private:
  pid_t process_;
  base::UniqueFd descriptor_;
  bool was_gone_ = false;
  uint64_t started_ = 0;  // to recognize another process with the same PID; 0: unknown
};

}  // namespace heaptap::process
