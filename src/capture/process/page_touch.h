// Access to an absent page of another process, in a thread that can be abandoned.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <memory>

#include "common/base/bounded_calls.h"
#include "common/base/unique_fd.h"

namespace heaptap::process {

class PageTouch {
 public:
  enum class Outcome : uint8_t {
    kThere,    // it was present in the end
    kNone,     // there is no such page
    kGivenUp,  // the page wasn't supplied in time
  };

  struct Page {
    std::shared_ptr<const base::UniqueFd> memory;  // /proc/PID/mem
    uint64_t address = 0;
    // A live thread of the process, where a file system may have to supply the page; else 0. See page_touch.cc.
    pid_t thread = 0;
  };

  explicit PageTouch(std::chrono::milliseconds longest = base::BoundedCalls::kLongest) : calls_(longest) {}

  Outcome touch(Page page);

 private:
  base::BoundedCalls calls_;
};

}  // namespace heaptap::process
