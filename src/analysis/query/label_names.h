// Names of a trace's labels, as given by the program (common/wire/labels.h).
#pragma once
#include <string>
#include <vector>

#include "analysis/patterns/name_filter.h"
#include "common/model/tables.h"

namespace heaptap::query {

struct LabelNames {
  std::vector<std::string> tags;  // outermost first
  std::string pool;               // or kind of resource; empty: none
};
LabelNames names_of(const model::Tables& tables, model::LabelId label);

// Canonical label of each label: the first with the same content, since threads that create one at the same time may duplicate it.
std::vector<model::LabelId> first_labels(const model::Tables& tables);

// Filter by tags: passes labels with all given tags, each by a tag's name or by the whole path ("request/parse").
class TagFilter {
 public:
  explicit TagFilter(const std::vector<std::string>& patterns);
  [[nodiscard]] bool empty() const { return filters_.empty(); }
  bool passes(const model::Tables& tables, model::LabelId label);

 private:
  [[nodiscard]] bool matches(const LabelNames& names) const;

  std::vector<patterns::NameFilter> filters_;
  std::vector<char> known_;  // by label: 0 not yet, 1 passes, 2 doesn't
};

}  // namespace heaptap::query
