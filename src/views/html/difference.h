// Comparison section of a report file: docs/report-data.md.
#pragma once
#include <string>

#include "analysis/report/comparison.h"
#include "analysis/report/report.h"
#include "views/html/folding.h"
#include "views/json/json_writer.h"

namespace heaptap::html {

// The comparison's stacks as a report, with the last recording's figures.
report::Report report_of(const report::Comparison& comparison);

// A stack weighs by its share of any figure in any recording, and by its share of the change.
Weights weights_of(const report::Comparison& comparison);

// As JSON. `rows` are those of report_of().
void write_difference(json::JsonWriter& json, const report::Comparison& comparison, const Rows& rows);

// "a.htap at 1.5 s": short name of a recording.
std::string name_of(const report::Recording& recording);

}  // namespace heaptap::html
