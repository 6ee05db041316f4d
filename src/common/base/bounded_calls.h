// Bounded execution of calls that may block on a process that is held, dead or waiting for heaptap: in a thread that can be abandoned.
// A forked child, which has no copy of that thread, makes one of its own.
#pragma once
#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

namespace heaptap::base {

class BoundedCalls {
 public:
  static constexpr std::chrono::milliseconds kLongest{2000};
  static constexpr std::chrono::milliseconds kLate{1000};
  static constexpr const char* kThreadName = "heaptap-look";
  static constexpr unsigned kMaxGivenUp = 4;  // each is a thread that waits in the kernel

  enum class Outcome : uint8_t { kTrue, kFalse, kGivenUp };  // the call's result, or that it didn't return in time

  explicit BoundedCalls(std::chrono::milliseconds longest = kLongest) : longest_(longest) {}
  ~BoundedCalls();
  BoundedCalls(const BoundedCalls&) = delete;
  BoundedCalls& operator=(const BoundedCalls&) = delete;

  // `call` must own what it uses: it may continue after it was given up. `late` is called in this thread, after kLate.
  Outcome run(std::function<bool()> call, const std::function<void()>& late = {});

 private:
  struct Worker;
  void leave_to_parent();
  void give_up();

  const std::chrono::milliseconds longest_;
  std::shared_ptr<Worker> worker_;
  pid_t process_ = 0;  // of the worker
  std::shared_ptr<std::atomic<unsigned>> given_up_ =
      std::make_shared<std::atomic<unsigned>>(0);  // given up and not returned yet
};

}  // namespace heaptap::base
