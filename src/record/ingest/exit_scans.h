// Scan where exit began, beside that of the end.
#pragma once
#include "common/model/heap_scan.h"

namespace heaptap::ingest {

// Whether a block that no root leads to at the end had one when exit began: only then does the first scan say more than the second.
[[nodiscard]] bool loses_holders(const model::HeapScan& start, const model::HeapScan& end);

}  // namespace heaptap::ingest
