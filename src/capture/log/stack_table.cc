#include "capture/log/stack_table.h"

#include <algorithm>

namespace heaptap::log {
namespace {

template <typename T>
T* part_of(wire::LogHeader& log, uint64_t offset) {
  return reinterpret_cast<T*>(reinterpret_cast<uint8_t*>(&log) + offset);
}

}  // namespace

StackTable::StackTable(wire::LogHeader& log, const wire::LogLayout& layout)
    : log_(log),
      code_capacity_(layout.code_capacity),
      node_capacity_(layout.node_capacity),
      codes_(part_of<wire::CodeEntry>(log, layout.codes_offset)),
      nodes_(part_of<wire::StackNode>(log, layout.nodes_offset)) {}

uint32_t StackTable::intern(uint32_t parent, uint64_t entry) {
  constexpr auto kFull = static_cast<uint32_t>(wire::StackEnd::kTableFull);
  const uint32_t code = code_index(entry);
  if (code == base::NumberTable::kNone) return kFull;
  const uint32_t number = add_node(wire::make_node(parent, code));
  return number != wire::kNoEntry ? number : kFull;
}

uint32_t StackTable::with_label(uint32_t stack, uint32_t label) {
  const uint32_t number = add_node(wire::make_node(stack, wire::kLabelCode | label));
  return number != wire::kNoEntry ? number : stack;
}

uint32_t StackTable::add_node(uint64_t node) {
  const uint32_t known = known_nodes_.find(node);
  if (known != base::NumberTable::kNone) return known;
  const uint32_t usable = std::min(log_.usable_nodes.load(std::memory_order_acquire), node_capacity_);
  const uint32_t number = wire::claim_entry(log_.node_count, usable);
  if (number == wire::kNoEntry) {
    log_.was_without_node.store(1, std::memory_order_relaxed);
    return wire::kNoEntry;
  }
  nodes_[number].store(node, std::memory_order_release);
  known_nodes_.add(node, number);
  return number;
}

uint32_t StackTable::code_index(uint64_t entry) {
  const uint32_t known = known_codes_.find(entry);
  if (known != base::NumberTable::kNone) return known;
  const uint32_t index = wire::claim_entry(log_.code_count, code_capacity_);
  if (index == wire::kNoEntry) {
    log_.was_without_node.store(1, std::memory_order_relaxed);
    return base::NumberTable::kNone;
  }
  codes_[index].store(entry, std::memory_order_release);
  known_codes_.add(entry, index);
  return index;
}

}  // namespace heaptap::log
