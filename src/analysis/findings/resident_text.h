// Text about resident memory.
#pragma once
#include <string>

#include "analysis/report/report.h"
#include "analysis/report/resident.h"

namespace heaptap::findings {

// "38.5 MiB anonymous, 1.4 MiB of files, about 40.0 KiB heaptap's log"; empty: unknown.
std::string resident_parts(const report::Resident& resident);

// "0.6 live, 20.1 free inside the allocator, 1.2 files, 0.3 heaptap": in the unit of the whole, as base::format_bytes
// writes it; other parts than live blocks of less than 0.1 are in "other", and the numbers add up to the whole.
std::string resident_parts(const report::ResidentParts& parts);

// For the end of a recording; empty where resident memory is unknown, small, or mostly explained by live memory:
// "40.0 MiB resident, 298.4 KiB live: 38.5 MiB anonymous, …".
std::string resident_line(const report::Totals& totals);

}  // namespace heaptap::findings
