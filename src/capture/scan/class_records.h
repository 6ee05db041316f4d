// Objects with private data before them and a class pointer first (GLib's GObject): they begin with a pointer to a
// record shared by all objects of their class, and the program has only pointers into the middle of such blocks. For
// the acceptance rules see docs/decisions/0112-objects-by-class-records.md. Private to scan/.
#pragma once
#include <vector>

#include "capture/scan/entrances.h"
#include "capture/scan/interior_pointers.h"
#include "capture/scan/scan_input.h"
#include "common/model/heap_scan.h"

namespace heaptap::scan {

// Sets kHeader for accepted pointers. All of the scan's pointers must be present.
void mark_object_pointers(model::HeapScan& scan, const InteriorPointers& pointers, const InteriorPointers& roots,
                          const std::vector<Entrances>& entrances, const CallLevels& calls, unsigned word_bytes);

}  // namespace heaptap::scan
