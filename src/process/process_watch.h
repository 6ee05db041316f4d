// Tells when a process that needn't be our child has ended: by a pidfd, or, where the kernel gives none (before Linux 5.3,
// under some filters of system calls, without a free descriptor), by looking at it again and again.
#pragma once
#include <sys/types.h>

#include <cstdint>

#include "base/unique_fd.h"

namespace heaptap::process {

class ProcessWatch {
 public:
  explicit ProcessWatch(pid_t process);

  // Readable when it has ended; -1: only has_ended() tells.
  [[nodiscard]] int descriptor() const { return descriptor_.get(); }
  [[nodiscard]] bool has_ended() const;

 private:
  pid_t process_;
  base::UniqueFd descriptor_;
  bool was_gone_ = false;
  uint64_t started_ = 0;  // so that another one with its number is told from it; 0: not known
};

}  // namespace heaptap::process
