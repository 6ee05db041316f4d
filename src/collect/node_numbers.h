// Other numbers for an agent's stack nodes, given as nodes are met: a stack's callers have theirs before it has its own.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "collect/event_stream.h"
#include "wire/log.h"

namespace heaptap::collect {

class NodeNumbers {
 public:
  explicit NodeNumbers(const AgentTables& tables) : tables_(tables) {}

  // Of no node: such a stack can't be read.
  [[nodiscard]] bool is_beyond(uint32_t node) const { return node >= numbers_.size() && node >= tables_.node_count(); }

  // The node's number. Where it has none yet, calls add(number of the parent, index of the code) for each node on the way
  // from the first caller that has one down to it, which gives that node's. Roots keep their numbers.
  template <typename Add>
  uint32_t number_of(uint32_t node, Add add) {
    if (node < numbers_.size() && numbers_[node] != kNone) return numbers_[node];
    if (node < wire::kRootCount) return node;
    if (is_beyond(node)) return kUnreadable;
    return walk(node, add);
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr auto kUnreadable = static_cast<uint32_t>(wire::StackEnd::kUnreadable);

  template <typename Add>
  uint32_t walk(uint32_t node, Add& add) {
    if (node >= numbers_.size()) numbers_.resize(std::min<size_t>(tables_.node_count(), (size_t{node} + 1) * 2), kNone);
    path_.clear();
    uint32_t at = node;
    while (at >= wire::kRootCount && numbers_[at] == kNone) {
      path_.push_back(at);
      const uint32_t parent = wire::node_parent(tables_.node(at));
      at = parent < at ? parent : kUnreadable;  // parents are older
    }
    uint32_t number = at < wire::kRootCount ? at : numbers_[at];
    for (auto entry = path_.rbegin(); entry != path_.rend(); ++entry) {
      number = numbers_[*entry] = add(number, wire::node_code(tables_.node(*entry)));
    }
    return number;
  }

  const AgentTables& tables_;
  std::vector<uint32_t> numbers_;  // by node; fewer than there are nodes
  std::vector<uint32_t> path_;
};

}  // namespace heaptap::collect
