// Comparison as JSON.
#pragma once
#include "analysis/report/comparison.h"
#include "analysis/report/view.h"
#include "views/json/json_version.h"

namespace heaptap::json {

// heaptap-diff: docs/json.md.
void write_comparison_json(const report::Comparison& comparison, Version version, const report::Write& write);

}  // namespace heaptap::json
