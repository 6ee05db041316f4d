#include "analysis/query/ignored_stacks.h"

#include <algorithm>
#include <vector>

#include "analysis/query/stack_index.h"

namespace heaptap::query {

uint32_t IgnoredStacks::rule_of_innermost(const model::Tables& tables, model::StackId stack) {
  const model::CodeId code = tables.stacks[stack].code;
  if (const auto known = codes_.find(code); known != codes_.end()) return known->second;
  uint32_t rule = Ignores::kNone;
  if (const StackNames::CodeFrames found = names_.frames_at(tables, stack); found.frames != nullptr) {
    for (const model::Frame& frame : *found.frames) rule = std::min(rule, ignores_.find(frame));
  }
  codes_.emplace(code, rule);
  return rule;
}

// Stacks share their callers: results for callers are cached.
uint32_t IgnoredStacks::rule_of(const model::Tables& tables, model::StackId stack) {
  std::vector<model::StackId> passed;
  uint32_t rule = Ignores::kNone;
  for (; stack >= wire::kRootCount; stack = parent_of(tables, stack)) {
    if (const auto known = stacks_.find(stack); known != stacks_.end()) {
      rule = known->second;
      break;
    }
    passed.push_back(stack);
  }
  for (auto inner = passed.rbegin(); inner != passed.rend(); ++inner) {
    rule = std::min(rule, rule_of_innermost(tables, *inner));
    stacks_.emplace(*inner, rule);
  }
  return rule;
}

}  // namespace heaptap::query
