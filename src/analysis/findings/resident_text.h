// Text about resident memory.
#pragma once
#include <string>

#include "analysis/report/report.h"
#include "analysis/report/resident.h"

namespace heaptap::findings {

// "38.5 MiB anonymous, 1.4 MiB of files, about 40.0 KiB heaptap's log"; empty: unknown.
std::string resident_parts(const report::Resident& resident);

// For the end of a recording; empty where resident memory is unknown, small, or mostly explained by live memory:
// "40.0 MiB resident, 298.4 KiB live: 38.5 MiB anonymous, …".
std::string resident_line(const report::Totals& totals);

}  // namespace heaptap::findings
