// Ignored stacks of a trace, and the rules that ignore them. Private to analysis/.
#pragma once
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>

#include "analysis/query/ignores.h"
#include "analysis/query/stack_names.h"
#include "common/model/tables.h"

namespace heaptap::query {

class IgnoredStacks {
 public:
  // Both must outlive this.
  IgnoredStacks(const Ignores& ignores, StackNames& names) : ignores_(ignores), names_(names) {}

  [[nodiscard]] bool any() const { return !ignores_.empty(); }
  [[nodiscard]] const Ignores& rules() const { return ignores_; }

  // First rule that matches any of its frames, shown or not; Ignores::kNone: none.
  uint32_t rule_of(const model::Tables& tables, model::StackId stack);
  bool contains(const model::Tables& tables, model::StackId stack) {
    return any() && rule_of(tables, stack) != Ignores::kNone;
  }

 private:
  uint32_t rule_of_innermost(const model::Tables& tables, model::StackId stack);

  const Ignores& ignores_;
  StackNames& names_;
  boost::unordered_flat_map<model::CodeId, uint32_t> codes_;
  boost::unordered_flat_map<model::StackId, uint32_t> stacks_;
};

}  // namespace heaptap::query
