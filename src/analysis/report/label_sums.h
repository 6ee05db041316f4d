// Figures by the program's own labels: tags or pools.
#pragma once
#include <string>
#include <vector>

#include "analysis/report/report.h"

namespace heaptap::report {

// "request/parse"; empty: no tags.
std::string path_of_tags(const std::vector<std::string>& tags);

// For text: "tag: request/parse", "pool: arena, tag: request"; empty: neither.
std::string labels_of(const StackEntry& stack);

// Same as a shortened suffix: "  [tag: request/parse]".
std::string labels_behind(const StackEntry& stack);

// Adds a stack's figures to the entry of its tags or its pool.
void add_to_labels(std::vector<LabelEntry>& labels, const LabelEntry& part);

}  // namespace heaptap::report
