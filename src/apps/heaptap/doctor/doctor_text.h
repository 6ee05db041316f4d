// Results of `heaptap doctor`, as text and as JSON.
#pragma once
#include <string>
#include <vector>

#include "apps/heaptap/doctor/doctor_checks.h"

namespace heaptap::app {

struct CheckGroup {
  std::string subject;  // "this machine", or the name of the program or process
  std::vector<Check> checks;
};

bool has_failed(const std::vector<CheckGroup>& groups);

// Lines of at most 80 columns, except longer commands and words.
std::string render_checks(const std::vector<CheckGroup>& groups);
std::string render_checks_json(const std::vector<CheckGroup>& groups);

}  // namespace heaptap::app
