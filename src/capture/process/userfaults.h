// Memory filled on access (userfaultfd(2)), mostly by the program itself. An access to an absent page would wait for
// the filling thread, and be visible to it.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string_view>
#include <vector>

#include "capture/process/memory_map.h"
#include "common/base/address_range.h"

namespace heaptap::process {

// The mappings registered with a userfaultfd in this text of /proc/PID/smaps, ascending.
std::vector<base::AddressRange> parse_userfault_ranges(std::string_view smaps);
// For a process with such a descriptor; else empty, without reading its mappings, which takes long.
std::vector<base::AddressRange> read_userfault_ranges(pid_t live_thread);

// Userfault ranges of a running process, possibly slightly outdated.
class Userfaults {
 public:
  // `thread`: any live thread of it.
  explicit Userfaults(pid_t thread);
  bool covers(uint64_t address);
  // A live thread of it, where a file system may have to supply the page, or nothing is known of it; else 0.
  pid_t thread_for_file(uint64_t address);

 private:
  using Clock = std::chrono::steady_clock;
  void read_again();

  pid_t process_;
  Clock::time_point read_at_{};
  std::vector<base::AddressRange> ranges_;
  std::vector<Mapping> map_;
};

}  // namespace heaptap::process
