// Figures by what the program calls what it allocates: by tags, or by pools.
#pragma once
#include <string>
#include <vector>

#include "report/report.h"

namespace heaptap::report {

// "request/parse"; empty: no tags.
std::string path_of_tags(const std::vector<std::string>& tags);

// For people: "tag: request/parse", "pool: arena, tag: request"; empty: neither.
std::string labels_of(const StackEntry& stack);

// The same behind other words, shortened: "  [tag: request/parse]".
std::string labels_behind(const StackEntry& stack);

// Adds a stack's figures to those of its tags, or of its pool.
void add_to_labels(std::vector<LabelEntry>& labels, const LabelEntry& part);

}  // namespace heaptap::report
