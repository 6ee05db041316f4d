// Calls that may wait for somebody who is held, dead, or waiting for us, in a thread that can be given up.
#pragma once
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

  enum class Outcome : uint8_t { kTrue, kFalse, kGivenUp };  // what the call returned, or that it didn't in time

  explicit BoundedCalls(std::chrono::milliseconds longest = kLongest) : longest_(longest) {}
  ~BoundedCalls();
  BoundedCalls(const BoundedCalls&) = delete;
  BoundedCalls& operator=(const BoundedCalls&) = delete;

  // What `call` uses is its own: it may go on when nobody waits for it any more. `late` is called here, once it has taken kLate.
  Outcome run(std::function<bool()> call, const std::function<void()>& late = {});

 private:
  struct Worker;
  void give_up();

  const std::chrono::milliseconds longest_;
  std::shared_ptr<Worker> worker_;
  std::shared_ptr<std::atomic<unsigned>> given_up_ =
      std::make_shared<std::atomic<unsigned>>(0);  // and didn't come back
};

}  // namespace heaptap::base
