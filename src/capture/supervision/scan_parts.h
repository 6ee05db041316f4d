// Parts of a leak scan that are the same for a stopped process and for a core file.
#pragma once
#include <vector>

#include "capture/scan/root_finder.h"
#include "capture/scan/scan_input.h"
#include "capture/supervision/process_scan.h"
#include "common/base/address_range.h"
#include "common/model/heap_scan.h"

namespace heaptap::supervision {

// Whether the signal's default action ends a process with a core dump.
bool dumps_core(int signal);

// Ranges of live blocks, including small gaps: enough to tell heaps from other memory.
std::vector<base::AddressRange> heap_ranges(const std::vector<model::ScannedBlock>& blocks);

scan::ScanInput scan_input(Recorded recorded, const scan::Roots& roots);

}  // namespace heaptap::supervision
