// Difference between two scans of one session. Blocks are the same if their numbers are equal. Pool blocks have no stable number:
// they are the same if the earlier scan had one at that address, of this size and by the same stack.
#pragma once
#include <cstdint>
#include <vector>

#include "analysis/leaks/classify.h"
#include "common/model/heap_scan.h"

namespace heaptap::leaks {

struct JudgedScan {
  const model::HeapScan& scan;
  const Classification& classification;  // of this scan
};

// Lost blocks (definite and indirect) as indexes into the named scan's blocks, in ascending order of block number.
struct ScanDifference {
  std::vector<uint32_t> allocated;  // of the later scan: lost now, allocated since the earlier one
  std::vector<uint32_t> older;      // of the later scan: lost now, there in the earlier one but not lost then
  std::vector<uint32_t> remained;   // of the later scan: lost in both
  std::vector<uint32_t> gone;       // of the earlier scan: no longer lost, since released, or found again by a pointer
};

[[nodiscard]] ScanDifference compare_scans(JudgedScan earlier, JudgedScan later);

}  // namespace heaptap::leaks
