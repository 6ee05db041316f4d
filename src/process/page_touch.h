// A look at a page of another process that isn't there yet, in a thread that can be given up.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <memory>

#include "base/bounded_calls.h"
#include "base/unique_fd.h"

namespace heaptap::process {

class PageTouch {
 public:
  enum class Outcome : uint8_t {
    kThere,    // it was at the end
    kNone,     // there is no such page
    kGivenUp,  // nobody has brought it in time
  };

  struct Page {
    std::shared_ptr<const base::UniqueFd> memory;  // /proc/PID/mem
    uint64_t address = 0;
    // A live thread of the process, where a file system may have to bring it; else 0. See page_touch.cc.
    pid_t thread = 0;
  };

  explicit PageTouch(std::chrono::milliseconds longest = base::BoundedCalls::kLongest) : calls_(longest) {}

  Outcome touch(Page page);

 private:
  base::BoundedCalls calls_;
};

}  // namespace heaptap::process
