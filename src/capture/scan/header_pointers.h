// Pointers after a header. A function that allocates for its callers may store a header before the returned memory: a
// size, a reference count, list links. The program then has only pointers into the middle of such blocks, all at one
// offset. For the acceptance rules see docs/decisions/0039-headers-by-agreement.md. Private to scan/.
#pragma once
#include <vector>

#include "capture/scan/entrances.h"
#include "capture/scan/interior_pointers.h"
#include "capture/scan/scan_input.h"
#include "common/model/heap_scan.h"

namespace heaptap::scan {

// Sets kHeader for accepted pointers. All of the scan's pointers must be present.
void mark_header_pointers(model::HeapScan& scan, const InteriorPointers& pointers, const InteriorPointers& roots,
                          const std::vector<Entrances>& entrances, const CallLevels& calls);

}  // namespace heaptap::scan
