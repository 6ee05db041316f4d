// Sums of several stacks' figures.
#pragma once
#include "analysis/report/report.h"

namespace heaptap::report {

// Adds a stack's figures to a sum. A figure unknown in either is unknown in the sum. Frames, threads and names of the sum are kept.
void add_figures(StackEntry& sum, const StackEntry& part);

}  // namespace heaptap::report
