// What a program calls what it allocates, of a trace's labels (wire/labels.h).
#pragma once
#include <string>
#include <vector>

#include "base/name_filter.h"
#include "model/tables.h"

namespace heaptap::analysis {

struct LabelNames {
  std::vector<std::string> tags;  // the outermost first
  std::string pool;               // or the kind of resource; empty: none
};
LabelNames names_of(const model::Tables& tables, model::LabelId label);

// For each label the first one that says the same: those who find one at the same time may make it twice.
std::vector<model::LabelId> first_labels(const model::Tables& tables);

// Which labels have all tags that are asked for: each by a tag's name, or by the whole path ("request/parse").
class TagFilter {
 public:
  explicit TagFilter(const std::vector<std::string>& patterns);
  [[nodiscard]] bool empty() const { return filters_.empty(); }
  bool passes(const model::Tables& tables, model::LabelId label);

 private:
  [[nodiscard]] bool matches(const LabelNames& names) const;

  std::vector<base::NameFilter> filters_;
  std::vector<char> known_;  // by label: 0 not yet, 1 passes, 2 doesn't
};

}  // namespace heaptap::analysis
