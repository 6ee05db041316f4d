// JSON views of a Report. Output is deterministic.
#pragma once
#include <string>

#include "analysis/report/report.h"
#include "analysis/report/view.h"
#include "views/json/json_version.h"

namespace heaptap::json {

struct Form {
  bool bottom_up = false;  // the tree goes from the allocating functions to their callers
  Version version = Version::kNodes;
};

// Keys are described in docs/report.schema.json and stable; numbers are exact; unknown values are null.
std::string render_json(const report::Report& report, report::View view, const Form& form = {});

// Same in pieces.
void write_json(const report::Report& report, report::View view, const Form& form, const report::Write& write);

// NDJSON of the blocks or the timeline view: one object per line, as in `write_json`, and nothing else. Empty for other views.
void write_ndjson(const report::Report& report, report::View view, const report::Write& write);
bool has_ndjson(report::View view);

}  // namespace heaptap::json
