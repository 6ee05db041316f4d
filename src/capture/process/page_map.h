// Touched pages of a process, from the kernel, without making page tables: PAGEMAP_SCAN where available (6.7), else
// /proc/PID/pagemap, else every page counts as touched.
#pragma once
#include <sys/types.h>

#include <vector>

#include "common/base/address_range.h"
#include "common/base/unique_fd.h"

namespace heaptap::process {

class PageMap {
 public:
  enum class Way : uint8_t { kScan, kEntries, kNone };

  // `thread` is any live thread of the process.
  explicit PageMap(pid_t thread);

  // Appends the touched parts of `range`, which lies in one mapping, in whole pages. `own_only`: without pages that are
  // unmodified from the mapping's file.
  void touched(base::AddressRange range, bool own_only, std::vector<base::AddressRange>& parts);

  // The first address in `range`, of one mapping or many, that may have been touched, or its end. One call for
  // terabytes of reserved memory; where the kernel lacks the call, the range's begin.
  [[nodiscard]] uint64_t skip_untouched(base::AddressRange range) const;

  // Appends the parts of `range`, of one mapping or many, that are in RAM and counted as the process's by the kernel: no
  // pages of zeros. False: unknown, since the kernel lacks the call, or it took until `deadline_ns` (monotonic).
  bool present(base::AddressRange range, uint64_t deadline_ns, std::vector<base::AddressRange>& parts) const;

  [[nodiscard]] Way way() const { return way_; }
  void use_for_test(Way way) { way_ = way; }

 private:
  bool scan(base::AddressRange range, bool own_only, std::vector<base::AddressRange>& parts) const;
  bool read_entries(base::AddressRange range, bool own_only, std::vector<base::AddressRange>& parts) const;

  base::UniqueFd file_;
  Way way_;
};

}  // namespace heaptap::process
