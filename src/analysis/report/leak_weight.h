// Weight of leaks: whether they are the first thing to say about a recording.
#pragma once
#include <cstdint>

#include "analysis/report/report.h"

namespace heaptap::report {

// Bytes that libraries keep for themselves, reachable or possibly lost.
uint64_t kept_by_libraries(const Leaks& leaks);

// Whether `bytes` are a hundredth of the peak or more: of blocks, without what libraries keep, and of mapped memory. An unknown peak:
// true.
bool is_of_weight(const Totals& totals, const Leaks& leaks, uint64_t bytes);

// All leaks, possible ones too.
uint64_t lost_or_possibly(const Leaks& leaks);

// Whether all leaks together are of weight.
bool leaks_weigh(const Totals& totals, const Leaks& leaks);

// Leaks that come first: those for certain, however small, and possible ones of weight. Needs the kept_by_libraries.
bool leaks_lead(const Totals& totals, const Leaks& leaks);

// Whether leaks that come first explain so little of what is left that the reachable memory has to be told with them.
bool reachable_outweighs(const Totals& totals, const Leaks& leaks);

}  // namespace heaptap::report
