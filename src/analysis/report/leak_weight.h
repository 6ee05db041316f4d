// Weight of leaks: whether they are the first thing to say about a recording.
#pragma once
#include <cstdint>

#include "analysis/report/report.h"

namespace heaptap::report {

// Bytes that libraries keep for themselves, reachable or possibly lost.
uint64_t kept_by_libraries(const Leaks& leaks);

// Whether `bytes` are a hundredth of the peak or more, without what libraries keep. An unknown peak: true.
bool is_of_weight(const Totals& totals, const Leaks& leaks, uint64_t bytes);

// Whether all leaks together are of weight.
bool leaks_weigh(const Totals& totals, const Leaks& leaks);

// Leaks that come first: those for certain, however small, and possible ones of weight. Needs the kept_by_libraries.
bool leaks_lead(const Totals& totals, const Leaks& leaks);

}  // namespace heaptap::report
