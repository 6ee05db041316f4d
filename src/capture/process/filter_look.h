// Detection of a seccomp filter installed by a program since its recording began, for all its threads or for one. From
// /proc, without code in the program.
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heaptap::process {

class FilterLook {
 public:
  // For a process that is recorded from now on.
  explicit FilterLook(pid_t process);

  // Checks the first thread and a few of the others, in turn. True: one has a new filter.
  [[nodiscard]] bool finds_one();

 private:
  pid_t process_;
  uint32_t known_;
  std::vector<pid_t> threads_;  // still to be checked
};

}  // namespace heaptap::process
