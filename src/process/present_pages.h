// Which pages of a process are there now, so that a look at them waits for nobody. What isn't there may have to be brought by a file
// system, or by a program that fills its memory by itself (userfaultfd) and is held meanwhile.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <span>

#include "base/unique_fd.h"

namespace heaptap::process {

enum class Access : uint8_t { kRead, kWrite };

// Of an entry of /proc/PID/pagemap (Documentation/admin-guide/mm/pagemap.rst).
constexpr bool is_there(uint64_t entry, Access access) {
  constexpr uint64_t kPresent = uint64_t{1} << 63;
  constexpr uint64_t kSwapped = uint64_t{1} << 62;
  constexpr uint64_t kWatchedForWrites = uint64_t{1}
                                         << 57;  // by a userfaultfd; also where nothing but that is known of a page
  const bool is_watched = (entry & kWatchedForWrites) != 0;
  if ((entry & kPresent) != 0) return access == Access::kRead || !is_watched;
  return (entry & kSwapped) != 0 && !is_watched;
}

class PresentPages {
 public:
  // `thread`: any live thread of the process. It is the address space that is kept, whoever else gets the thread's number.
  explicit PresentPages(pid_t thread);

  // False: the kernel doesn't tell.
  [[nodiscard]] bool is_known() const { return static_cast<bool>(file_); }
  // How many of the bytes from `address` on come before the first page that isn't there. All of them where that isn't known.
  [[nodiscard]] uint64_t bytes_there(uint64_t address, uint64_t bytes, Access access) const;
  [[nodiscard]] static uint64_t page_bytes();
  // As the kernel has them, of the pages from `page` (a number) on. How many could be read.
  size_t read_entries(uint64_t page, std::span<uint64_t> entries) const;

 private:
  base::UniqueFd file_;
};

}  // namespace heaptap::process
