// A look at a page of another process that isn't there yet, in a thread that can be given up: who has to bring the page may be held,
// dead, or waiting for us.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

#include "base/unique_fd.h"

namespace heaptap::process {

class PageTouch {
 public:
  static constexpr std::chrono::milliseconds kLongest{2000};

  enum class Outcome : uint8_t {
    kThere,    // it was at the end
    kNone,     // there is no such page
    kGivenUp,  // nobody has brought it in time
  };

  explicit PageTouch(std::chrono::milliseconds longest = kLongest) : longest_(longest) {}
  ~PageTouch();
  PageTouch(const PageTouch&) = delete;
  PageTouch& operator=(const PageTouch&) = delete;

  // `memory`: /proc/PID/mem.
  Outcome touch(const std::shared_ptr<const base::UniqueFd>& memory, uint64_t address);

 private:
  struct Worker;
  void give_up();

  const std::chrono::milliseconds longest_;
  std::shared_ptr<Worker> worker_;
  std::shared_ptr<std::atomic<unsigned>> given_up_ =
      std::make_shared<std::atomic<unsigned>>(0);  // and didn't come back
};

}  // namespace heaptap::process
