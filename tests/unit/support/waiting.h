// Waiting for a condition, with a diagnosis on timeout: what was awaited, for how long, and the state of the process concerned.
#pragma once
#include <gtest/gtest.h>
#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <string_view>

#include "common/base/small_file.h"

namespace heaptap::test {

// Timeout for hung processes, generous for busy machines.
constexpr std::chrono::minutes kLongestWait{2};

// Status, wait channel and system call of a process, as far as the kernel reports them.
inline std::string state_of(pid_t process) {
  const std::string directory = "/proc/" + std::to_string(process) + "/";
  std::string text;
  for (const char* file : {"wchan", "syscall", "stack", "status"})
    text += std::string(file) + ": " + base::read_small_file(directory + file) + "\n";
  return text;
}

// Waits until the condition holds. False: it never did, and the test has failed.
template <typename Condition>
bool wait_for(std::string_view what, Condition is_so, pid_t process = 0) {
  const auto began = std::chrono::steady_clock::now();
  while (!is_so()) {
    const auto passed = std::chrono::steady_clock::now() - began;
    if (passed > kLongestWait) {
      ADD_FAILURE() << "waited for " << std::chrono::duration_cast<std::chrono::seconds>(passed).count()
                    << " s in vain: " << what << "\n"
                    << (process == 0 ? "" : state_of(process));
      return false;
    }
    usleep(100);
  }
  return true;
}

}  // namespace heaptap::test
