// Which sites are the same: one function called from stacks with the same content. A trace may hold a stack more than once,
// under different numbers, where threads found it at the same time.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "host/model/tables.h"

namespace heaptap::analysis {

class StackIndex {
 public:
  explicit StackIndex(const model::Tables& tables);

  // The sites that allocate (or map), grouped. A group's id is its index plus one: in order of first occurrence in the
  // trace, whatever part of it is shown.
  [[nodiscard]] const std::vector<std::vector<model::SiteId>>& groups() const { return groups_; }
  [[nodiscard]] uint64_t id_of(model::SiteId site) const { return ids_[site]; }  // 0: doesn't allocate

  // The first stack with this content.
  [[nodiscard]] model::StackId same_as(model::StackId stack) const { return same_stack_[stack]; }

 private:
  void index_stacks(const model::Tables& tables);
  void group_sites(const model::Tables& tables);

  std::vector<model::StackId> same_stack_;
  std::vector<std::vector<model::SiteId>> groups_;
  std::vector<uint64_t> ids_;  // by site
};

// The codes of a stack, innermost first.
// The caller's stack, where that comes first in the tables as it should; else a root.
model::StackId parent_of(const model::Tables& tables, model::StackId stack);

// How many return addresses it has.
size_t depth_of(const model::Tables& tables, model::StackId stack);

std::vector<model::CodeId> codes_of(const model::Tables& tables, model::StackId stack);

// Why a stack has no further frames, for people; empty where it is whole.
std::string ends_early(const model::Tables& tables, model::StackId stack);

}  // namespace heaptap::analysis
