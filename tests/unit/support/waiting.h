// Waiting for a state, and saying why where it doesn't come: what was waited for, for how long, and what the process that should bring
// it about is doing.
#pragma once
#include <gtest/gtest.h>
#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <string_view>

#include "base/small_file.h"

namespace heaptap::test {

// Of what hangs. A machine that is busy takes its time.
constexpr std::chrono::minutes kLongestWait{2};

// Status, what it waits in, and its system call, as far as the kernel tells.
inline std::string state_of(pid_t process) {
  const std::string folder = "/proc/" + std::to_string(process) + "/";
  std::string text;
  for (const char* file : {"wchan", "syscall", "stack", "status"})
    text += std::string(file) + ": " + base::read_small_file(folder + file) + "\n";
  return text;
}

// Until it is so. False: it never was, and the test has failed.
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
