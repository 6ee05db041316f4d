// Verdict of `heaptap check` as JSON.
#pragma once
#include <string>
#include <vector>

#include "analysis/findings/verdict.h"
#include "views/json/json_version.h"

namespace heaptap::json {

std::string render_verdict_json(const findings::Verdict& verdict, Version version = Version::kNodes);
// For several traces. `failures` couldn't be judged.
std::string render_verdicts_json(const std::vector<findings::Verdict>& verdicts,
                                 const std::vector<findings::FailedTrace>& failures, Version version = Version::kNodes);

}  // namespace heaptap::json
