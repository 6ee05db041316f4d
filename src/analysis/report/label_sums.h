// Figures by the program's own labels: tags or pools.
#pragma once
#include <string>
#include <vector>

#include "analysis/report/report.h"

namespace heaptap::report {

// "request/parse"; empty: no tags.
std::string path_of_tags(const std::vector<std::string>& tags);

// Adds a stack's figures to the entry of its tags or its pool.
void add_to_labels(std::vector<LabelEntry>& labels, const LabelEntry& part);

}  // namespace heaptap::report
