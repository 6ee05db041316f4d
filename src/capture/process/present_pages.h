// Present pages of a process, which can be accessed without waiting. Absent pages may have to be supplied by a file
// system, or by a program that fills its memory itself (userfaultfd) and is held.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <span>

#include "common/base/unique_fd.h"

namespace heaptap::process {

enum class Access : uint8_t { kRead, kWrite };

// For an entry of /proc/PID/pagemap (Documentation/admin-guide/mm/pagemap.rst).
constexpr bool is_there(uint64_t entry, Access access) {
  constexpr uint64_t kPresent = uint64_t{1} << 63;
  constexpr uint64_t kSwapped = uint64_t{1} << 62;
  constexpr uint64_t kWatchedForWrites = uint64_t{1}
                                         << 57;  // by a userfaultfd; also set where nothing else is known of a page
  const bool is_watched = (entry & kWatchedForWrites) != 0;
  if ((entry & kPresent) != 0) return access == Access::kRead || !is_watched;
  return (entry & kSwapped) != 0 && !is_watched;
}

class PresentPages {
 public:
  // `thread`: any live thread of the process. Keeps the address space, even if the thread's number is reused.
  explicit PresentPages(pid_t thread);

  // False: the kernel doesn't provide it.
  [[nodiscard]] bool is_known() const { return static_cast<bool>(file_); }
  // Number of bytes from `address` before the first absent page. All of them where unknown.
  [[nodiscard]] size_t bytes_there(uint64_t address, size_t bytes, Access access) const;
  // Raw entries of the pages from page number `page` on. Returns the number of entries read.
  size_t read_entries(uint64_t page, std::span<uint64_t> entries) const;

 private:
  base::UniqueFd file_;
};

}  // namespace heaptap::process
