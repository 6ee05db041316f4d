// Comparison as JSON.
#pragma once
#include "analysis/report/comparison.h"
#include "analysis/report/view.h"

namespace heaptap::json {

// heaptap-diff, version 1: docs/json.md.
void write_comparison_json(const report::Comparison& comparison, const report::Write& write);

}  // namespace heaptap::json
