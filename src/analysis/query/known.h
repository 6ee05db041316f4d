// Certainty of a report's verdicts: gaps in the recording make no block lost and no release bad.
#pragma once
#include "analysis/report/report.h"

namespace heaptap::query {

// Needs the report's capture, totals and leaks.
report::KnownVerdicts known_of(const report::Report& report);

}  // namespace heaptap::query
