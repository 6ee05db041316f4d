// A watch over the threads of this process, for as long as it lives: who stands still in the kernel can't say so itself.
#pragma once
#include <functional>
#include <thread>

#include "collect/kernel_waits.h"

namespace heaptap::collect {

class OwnWaits {
 public:
  // `tell` is called by a thread of its own, for each thread that has stood still for a second. Not of those that make looks: who waits for
  // one tells it itself (base/served_files.h).
  explicit OwnWaits(std::function<void(const StandingThread&)> tell);

 private:
  std::jthread watch_;
};

}  // namespace heaptap::collect
