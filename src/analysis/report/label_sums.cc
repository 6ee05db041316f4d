#include "analysis/report/label_sums.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/report/stack_sums.h"

namespace heaptap::report {

std::string path_of_tags(const std::vector<std::string>& tags) {
  std::string path;
  for (const std::string& tag : tags) path += fmt::format("{}{}", path.empty() ? "" : "/", tag);
  return path;
}

void add_to_labels(std::vector<LabelEntry>& labels, const LabelEntry& part) {
  const auto found = std::ranges::find_if(
      labels, [&](const LabelEntry& label) { return label.tags == part.tags && label.pool == part.pool; });
  if (found == labels.end()) {
    labels.push_back(part);
    return;
  }
  add_figures(found->sum, part.sum);
}

}  // namespace heaptap::report
