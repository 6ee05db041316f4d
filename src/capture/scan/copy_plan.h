// Plan of a copy of a process's memory that was begun while the process ran: what of it still holds now that the process
// is stopped, and what has to be read. Facts in, ranges out. Private to scan/.
#pragma once
#include <span>
#include <vector>

#include "capture/process/memory_map.h"
#include "capture/process/page_states.h"
#include "common/base/address_range.h"

namespace heaptap::scan {

struct CopyPlan {
  std::vector<base::AddressRange> kept;  // of the copied ranges; ascending
  std::vector<base::AddressRange> read;  // ascending
};

// Whether pages of this mapping can be copied before the process is stopped: private memory without a file that it may
// read, but its first stack.
bool is_copied_early(const process::Mapping& mapping);

// What a scan may need of memory: all pages that are the process's own, and those it shares with others. The memory map and the
// states of the pages are those of the stopped process. `copied`: ranges that were copied after their watch had begun; ascending.
//
//   private, no file      kept where it is known to be unchanged
//   private, of a file    its own pages are read: the kernel's marks of such pages say nothing
//   shared                read: others may have written it
CopyPlan plan_copy(const std::vector<process::Mapping>& map, const process::PageStates& now,
                   std::span<const base::AddressRange> copied);

}  // namespace heaptap::scan
