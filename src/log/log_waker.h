// Wakes a collector that rests, when a program whose log it drains needs it. Only words in shared memory: an agent keeps no
// descriptor in its program.
#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "base/unique_fd.h"
#include "wire/log.h"

namespace heaptap::log {

// Rings when one of these logs' programs comes to its end, or when its log fills while the collector rests
// (`LogHeader::wake_threshold`): `descriptor` is then readable. Where the kernel can't wait for several words (before Linux 5.16) it
// never rings, and who polls finds all of that the same, later.
class LogWaker {
 public:
  LogWaker();
  ~LogWaker();
  LogWaker(const LogWaker&) = delete;
  LogWaker& operator=(const LogWaker&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_.get(); }
  void silence();

  // A log stays mapped until it is removed.
  void add(wire::LogHeader& log);
  void remove(wire::LogHeader& log);

 private:
  void listen();
  void wake();

  base::UniqueFd descriptor_;
  std::atomic<uint32_t> changes_{0};  // a futex
  std::mutex mutex_;                  // of what follows
  bool stops_ = false;
  std::vector<wire::LogHeader*> logs_;
  std::thread thread_;
};

}  // namespace heaptap::log
