// Present pages of a process, which can be accessed without waiting. Absent pages may have to be supplied by a file
// system, or by a program that fills its memory itself (userfaultfd) and is held.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <span>

#include "common/base/unique_fd.h"

namespace heaptap::process {

enum class Access : uint8_t { kRead, kWrite };

// Bits of an entry of /proc/PID/pagemap (Documentation/admin-guide/mm/pagemap.rst).
constexpr uint64_t kEntryPresent = uint64_t{1} << 63;
constexpr uint64_t kEntrySwapped = uint64_t{1} << 62;
constexpr uint64_t kEntryFile = uint64_t{1} << 61;
constexpr uint64_t kEntryWatched = uint64_t{1} << 57;  // for writes, by a userfaultfd

// A page that is both swapped and watched may have content (it is swapped, or the kernel is moving it), or only a mark that it is
// watched: so it isn't known to be there.
constexpr bool is_there(uint64_t entry, Access access) {
  const bool is_watched = (entry & kEntryWatched) != 0;
  if ((entry & kEntryPresent) != 0) return access == Access::kRead || !is_watched;
  return (entry & kEntrySwapped) != 0 && !is_watched;
}

// It surely has no content. Not the opposite of is_there().
constexpr bool is_untouched(uint64_t entry) { return (entry & (kEntryPresent | kEntrySwapped)) == 0; }

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
