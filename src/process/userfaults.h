// Memory that somebody fills as it is touched (userfaultfd(2)): the program itself, mostly. A look at a page of it that isn't there
// would wait for whoever fills it, and be seen there.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/address_range.h"
#include "process/memory_map.h"

namespace heaptap::process {

// The mappings of this text of /proc/PID/smaps that are registered with a userfaultfd, ascending.
std::vector<base::AddressRange> parse_userfault_ranges(std::string_view smaps);
// Of a process that has such a descriptor; else empty, without a look at its mappings, which takes long.
std::vector<base::AddressRange> read_userfault_ranges(pid_t live_thread);

// Those of a process that runs, as of a moment ago.
class Userfaults {
 public:
  // `thread`: any live thread of it.
  explicit Userfaults(pid_t thread);
  bool covers(uint64_t address);
  // A live thread of it, where a file system may have to bring the page, or nothing is known of it; else 0.
  pid_t thread_for_file(uint64_t address);

 private:
  using Clock = std::chrono::steady_clock;
  void read_anew();

  pid_t process_;
  Clock::time_point read_at_{};
  std::vector<base::AddressRange> ranges_;
  std::vector<Mapping> map_;
};

}  // namespace heaptap::process
