// Objects that begin with a pointer to what all objects of their class share, its class record, and have private data of any
// length in front of them (GLib's GObject): the program has pointers into the middle of such blocks alone.
// docs/decisions/0112-objects-by-class-records.md says when that is believed. Private to scan/.
#pragma once
#include <vector>

#include "model/heap_scan.h"
#include "scan/entrances.h"
#include "scan/interior_pointers.h"
#include "scan/scan_input.h"

namespace heaptap::scan {

// Makes kHeader of pointers of which it is believed. All of the scan's pointers must be there.
void mark_object_pointers(model::HeapScan& scan, const InteriorPointers& pointers, const InteriorPointers& roots,
                          const std::vector<Entrances>& entrances, const CallLevels& calls, unsigned word_bytes);

}  // namespace heaptap::scan
