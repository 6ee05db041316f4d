// The figures of several stacks together.
#pragma once
#include "report/report.h"

namespace heaptap::report {

// Adds a stack's figures to those of others: what isn't known of one isn't known of the sum. Frames, threads and names stay.
void add_figures(StackEntry& sum, const StackEntry& part);

}  // namespace heaptap::report
