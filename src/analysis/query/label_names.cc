#include "analysis/query/label_names.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/report/label_sums.h"

namespace heaptap::query {
namespace {

// A label's parent comes before it; any other one in a damaged trace counts as none.
model::LabelId outer_of(const model::Tables& tables, model::LabelId label) {
  const model::LabelId parent = tables.labels[label].parent;
  return parent < label ? parent : 0;
}

}  // namespace

// A pool's label may be inside tags; tags are never inside pools.
LabelNames names_of(const model::Tables& tables, model::LabelId label) {
  LabelNames names;
  for (; label != 0 && label < tables.labels.size(); label = outer_of(tables, label)) {
    const model::Label& entry = tables.labels[label];
    if (entry.kind == wire::LabelKind::kTag) names.tags.push_back(entry.name);
    if (entry.kind == wire::LabelKind::kPool || entry.kind == wire::LabelKind::kResource) names.pool = entry.name;
  }
  std::ranges::reverse(names.tags);
  return names;
}

std::vector<model::LabelId> first_labels(const model::Tables& tables) {
  std::map<std::tuple<model::LabelId, wire::LabelKind, std::string>, model::LabelId> known;
  std::vector<model::LabelId> first(tables.labels.size());
  for (model::LabelId label = 1; label < tables.labels.size(); ++label) {
    const model::Label& entry = tables.labels[label];
    first[label] = known.try_emplace({first[outer_of(tables, label)], entry.kind, entry.name}, label).first->second;
  }
  return first;
}

TagFilter::TagFilter(const std::vector<std::string>& patterns) {
  for (const std::string& pattern : patterns) filters_.emplace_back(pattern);
}

bool TagFilter::matches(const LabelNames& names) const {
  const std::string path = report::path_of_tags(names.tags);
  return std::ranges::all_of(filters_, [&](const patterns::NameFilter& filter) {
    return !names.tags.empty() && (filter.matches(path) || std::ranges::any_of(names.tags, [&](const std::string& tag) {
                                     return filter.matches(tag);
                                   }));
  });
}

bool TagFilter::passes(const model::Tables& tables, model::LabelId label) {
  if (filters_.empty()) return true;
  if (label >= known_.size()) known_.resize(label + size_t{1}, 0);
  char& known = known_[label];
  if (known == 0) known = matches(names_of(tables, label)) ? 1 : 2;
  return known == 1;
}

}  // namespace heaptap::query
