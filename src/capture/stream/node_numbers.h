// Renumbering of an agent's stack nodes in order of use: a stack's callers are numbered before it.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "capture/stream/event_stream.h"
#include "common/wire/log.h"

namespace heaptap::stream {

// Stack under a label of the program; wire::kNoLabel: none.
struct LabelledStack {
  uint32_t stack;
  uint32_t label;
};
inline LabelledStack split_label(const AgentTables& tables, uint32_t node) {
  if (node < wire::kRootCount || node >= tables.node_count()) return {node, wire::kNoLabel};
  const uint64_t entry = tables.node(node);
  const uint32_t code = wire::node_code(entry);
  if (!wire::is_label_code(code)) return {node, wire::kNoLabel};
  const uint32_t parent = wire::node_parent(entry);
  const auto unreadable = static_cast<uint32_t>(wire::StackEnd::kUnreadable);
  return {parent < node ? parent : unreadable, code & ~wire::kLabelCode};
}

class NodeNumbers {
 public:
  explicit NodeNumbers(const AgentTables& tables) : tables_(tables) {}

  // Beyond the table: such a stack is unreadable.
  [[nodiscard]] bool is_beyond(uint32_t node) const { return node >= tables_.node_count(); }

  static constexpr uint32_t kNone = UINT32_MAX;
  // kNone: no number yet.
  [[nodiscard]] uint32_t known(uint32_t node) const { return has_room(node) ? number(node) : kNone; }
  // For a node with a label, which is no stack itself. It is below node_count().
  void set(uint32_t node, uint32_t number) {
    make_room(node);
    this->number(node) = number;
  }

  // The node's number. If it has none yet, calls add(number of the parent, index of the code) for each node from the
  // first numbered caller down to it; add returns the new number. Roots keep their numbers.
  template <typename Add>
  uint32_t number_of(uint32_t node, Add add) {
    if (const uint32_t there = known(node); there != kNone) return there;
    if (node < wire::kRootCount) return node;
    if (is_beyond(node)) return kUnreadable;
    return walk(node, add);
  }

 private:
  static constexpr auto kUnreadable = static_cast<uint32_t>(wire::StackEnd::kUnreadable);

  // There may be millions of nodes, and little memory: pages never move when nodes are added.
  static constexpr unsigned kPageBits = 12;
  static constexpr size_t kPageEntries = size_t{1} << kPageBits;
  using Page = std::array<uint32_t, kPageEntries>;

  [[nodiscard]] bool has_room(uint32_t node) const { return node >> kPageBits < pages_.size(); }
  [[nodiscard]] uint32_t& number(uint32_t node) const { return (*pages_[node >> kPageBits])[node % kPageEntries]; }
  void make_room(uint32_t node) {
    while (!has_room(node)) {
      pages_.push_back(std::make_unique_for_overwrite<Page>());
      pages_.back()->fill(kNone);
    }
  }

  template <typename Add>
  uint32_t walk(uint32_t node, Add& add) {
    make_room(node);
    path_.clear();
    uint32_t at = node;
    while (at >= wire::kRootCount && number(at) == kNone) {
      path_.push_back(at);
      const uint32_t parent = wire::node_parent(tables_.node(at));
      at = parent < at ? parent : kUnreadable;  // parents have smaller numbers
    }
    uint32_t parent = at < wire::kRootCount ? at : number(at);
    for (auto entry = path_.rbegin(); entry != path_.rend(); ++entry) {
      parent = number(*entry) = add(parent, wire::node_code(tables_.node(*entry)));
    }
    return parent;
  }

  const AgentTables& tables_;
  std::vector<std::unique_ptr<Page>> pages_;  // by node
  std::vector<uint32_t> path_;
};

}  // namespace heaptap::stream
