// Tags and pools of stacks, for text.
#pragma once
#include <string>

#include "analysis/report/report.h"

namespace heaptap::findings {

// "tag: request/parse", "pool: arena, tag: request"; empty: neither.
std::string labels_of(const report::StackEntry& stack);

// Same as a shortened suffix: "  [tag: request/parse]".
std::string labels_behind(const report::StackEntry& stack);

}  // namespace heaptap::findings
