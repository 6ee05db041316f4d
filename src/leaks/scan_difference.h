// What changed between two scans of one session: blocks are the same if they have the same number. Those of pools have none that
// lasts: they are the same if one of this size lay there before, allocated by the same stack.
#pragma once
#include <cstdint>
#include <vector>

#include "leaks/classify.h"
#include "model/heap_scan.h"

namespace heaptap::leaks {

struct JudgedScan {
  const model::HeapScan& scan;
  const Classification& classification;  // of this scan
};

// Lost blocks (definite and indirect), as indexes into the blocks of the scan that is named; ascending by block number.
struct ScanDifference {
  std::vector<uint32_t> allocated;  // of the later scan: lost now, allocated since the earlier one
  std::vector<uint32_t> older;      // of the later scan: lost now, there in the earlier one but not lost then
  std::vector<uint32_t> remained;   // of the later scan: lost in both
  std::vector<uint32_t> gone;       // of the earlier scan: no longer lost, since released, or found again by a pointer
};

[[nodiscard]] ScanDifference compare_scans(JudgedScan earlier, JudgedScan later);

}  // namespace heaptap::leaks
