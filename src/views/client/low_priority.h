// Priority of threads that read what is being recorded.
#pragma once
#include <sys/resource.h>

#include <algorithm>

namespace heaptap::client {

// Lowers the priority of this thread, and of the threads that it creates. With few processors the program and its
// recorder run first, and the reader falls behind; otherwise the reader would take CPU time that the recorder needs to
// empty the log.
inline void go_behind_others() {
  constexpr int kNicer = 10;  // a tenth of the share of others
  constexpr int kNicest = 19;
  setpriority(PRIO_PROCESS, 0, std::min(getpriority(PRIO_PROCESS, 0) + kNicer, kNicest));
}

}  // namespace heaptap::client
