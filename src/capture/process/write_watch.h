// Watch over the pages that a process writes while it runs: a userfaultfd of its own, which it has made and which only
// this process has (tracer/userfault_maker.h), with asynchronous write protection (Linux 6.7 and later). A watched page
// is write-protected until it is written; that write costs a page fault (1 to 2 us), and splits the mapping of a huge
// page. Nothing else of the process changes, and nobody waits.
//
// Only private memory without a file can be watched: the kernel marks the pages of files in ways that outlive their
// contents (a page that MADV_DONTNEED dropped still looks unwritten). Not seen are writes of devices to pages that
// they were given before the watch began.
//
// Ends with this object, or with the process that owns it: the kernel removes all of it with the descriptor.
#pragma once
#include <vector>

#include "common/base/address_range.h"
#include "common/base/result.h"
#include "common/base/unique_fd.h"

namespace heaptap::process {

class WriteWatch {
 public:
  // Error: this kernel can't.
  static base::Result<WriteWatch> create(base::UniqueFd userfault);

  // The part of one mapping can be watched from here on. False: the kernel refuses it (other memory than the mapping's
  // entry says, a mapping that is gone, another userfaultfd).
  bool add(base::AddressRange part);
  // Watches the pages of `part`, which was added, that were ever touched, and appends these. What isn't appended isn't
  // watched. `pagemap`: a descriptor of the process's /proc/PID/pagemap. False: some were left out.
  bool begin(int pagemap, base::AddressRange part, std::vector<base::AddressRange>& watched) const;
  // Nothing is watched any more. In steps: the process's memory map is locked meanwhile.
  void end();

  // False: the process's memory has changed so that only closing the descriptor could end it: there is none any more.
  [[nodiscard]] bool is_open() const { return static_cast<bool>(userfault_); }

 private:
  explicit WriteWatch(base::UniqueFd userfault) : userfault_(std::move(userfault)) {}

  base::UniqueFd userfault_;
  std::vector<base::AddressRange> added_;
};

}  // namespace heaptap::process
