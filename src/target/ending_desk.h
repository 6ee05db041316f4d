// The collector's side of a program's end (wire/ending.h): takes what an agent offers, says how it goes on, and lets the
// program end.
#pragma once
#include <sys/types.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "wire/log.h"

namespace heaptap::target {

// A copy of what the agent says, once; from then on the program waits.
std::optional<wire::EndingNotice> take_ending(wire::LogHeader& log);

// To be called at least every wire::kEndingPatienceMs, else the program goes on.
void show_progress(wire::LogHeader& log);

// Asks the agent to let process `reader` read the memory, where Yama forbids it otherwise, and waits for it. False: it
// didn't answer.
bool ask_access(wire::LogHeader& log, pid_t reader);

// Lets the program end. False: it did without waiting, so that what was read of its memory can't be relied on.
bool finish_ending(wire::LogHeader& log);

// Rings when one of these logs' programs comes to its end: `descriptor` is then readable. Where the kernel can't wait for
// several words (before Linux 5.16) it never rings, and who polls finds the offer all the same.
class EndingBell {
 public:
  EndingBell();
  ~EndingBell();
  EndingBell(const EndingBell&) = delete;
  EndingBell& operator=(const EndingBell&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }
  void silence();

  // A log stays mapped until it is removed.
  void add(wire::LogHeader& log);
  void remove(wire::LogHeader& log);

 private:
  void listen();
  void wake();

  int descriptor_;
  std::atomic<uint32_t> changes_{0};  // a futex
  std::mutex mutex_;                  // of what follows
  bool stops_ = false;
  std::vector<wire::LogHeader*> logs_;
  std::thread thread_;
};

}  // namespace heaptap::target
