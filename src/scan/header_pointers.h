// Pointers behind a header. A function that allocates on behalf of others may keep something in front of what it gives out:
// a size, a reference count, the links of a list. The program then has pointers into the middle of such blocks alone, all at
// one offset. docs/decisions/0039-headers-by-agreement.md says when that is believed. Private to scan/.
#pragma once
#include <vector>

#include "model/heap_scan.h"
#include "scan/entrances.h"
#include "scan/interior_pointers.h"
#include "scan/scan_input.h"

namespace heaptap::scan {

// Makes kHeader of pointers of which it is believed. All of the scan's pointers must be there.
void mark_header_pointers(model::HeapScan& scan, const InteriorPointers& pointers, const InteriorPointers& roots,
                          const std::vector<Entrances>& entrances, const CallLevels& calls);

}  // namespace heaptap::scan
