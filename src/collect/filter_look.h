// Whether a program has installed a filter of system calls since its recording began: for all its threads, or for one of them. /proc
// tells it; nothing in the program may have.
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heaptap::collect {

class FilterLook {
 public:
  // Of a process that is being recorded from now on.
  explicit FilterLook(pid_t process);

  // Looks at the first thread and a few of the others, in turn. True: one is under a filter that wasn't there.
  [[nodiscard]] bool finds_one();

 private:
  pid_t process_;
  uint32_t known_;
  std::vector<pid_t> threads_;  // that are yet to be looked at
};

}  // namespace heaptap::collect
