// Wake-up of an idle collector by the programs whose logs it drains. Uses only words in shared memory: an agent keeps
// no descriptor in its program.
#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "common/base/unique_fd.h"
#include "common/wire/log.h"

namespace heaptap::log {

// Wakes when a log's program ends, or when its log fills while the collector is idle (`LogHeader::wake_threshold`):
// `descriptor` is then readable. If the kernel can't wait for several words (before Linux 5.16) it never wakes; a
// polling collector finds all of that later.
class LogWaker {
 public:
  LogWaker();
  ~LogWaker();
  LogWaker(const LogWaker&) = delete;
  LogWaker& operator=(const LogWaker&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_.get(); }
  void silence();

  // The log must stay mapped until it is removed.
  void add(wire::LogHeader& log);
  void remove(wire::LogHeader& log);
  // The scan before a program's exit handlers is over: its end will come.
  void look_again() { wake(); }

 private:
  void listen();
  void wake();

  base::UniqueFd descriptor_;
  std::atomic<uint32_t> changes_{0};  // a futex
  std::mutex mutex_;                  // guards the following
  bool stops_ = false;
  std::vector<wire::LogHeader*> logs_;
  std::thread thread_;
};

}  // namespace heaptap::log
