// Sums of several stacks' figures.
#pragma once
#include "analysis/report/report.h"

namespace heaptap::report {

// Adds a stack's figures to a sum. A figure unknown in either is unknown in the sum. Frames, threads and names of the sum are kept.
void add_figures(StackEntry& sum, const StackEntry& part);
// Adds mapped bytes, and those at the peak of mapped memory. Stacks without any stay small.
void add_mapped(StackEntry& sum, const model::MappedBytes& bytes, uint64_t peak_bytes);

}  // namespace heaptap::report
