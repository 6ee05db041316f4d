// Watchdog for the threads of this process during its lifetime: a thread blocked in the kernel can't report that itself.
#pragma once
#include <functional>
#include <thread>

#include "capture/supervision/kernel_waits.h"

namespace heaptap::supervision {

class OwnWaits {
 public:
  // Calls `tell` in a thread of its own for each thread that has been blocked for a second. Not for threads of
  // ServedFiles: their callers report that themselves (common/base/served_files.h).
  explicit OwnWaits(std::function<void(const StandingThread&)> tell);

 private:
  std::jthread watch_;
};

}  // namespace heaptap::supervision
