// Call stacks as numbers: a trie of code entries, kept in the log's shared memory, with an index of its own beside it.
// Threads use it without locks. The same stack may get a second number in a race; readers merge them.
#pragma once
#include <stdint.h>

#include <atomic>

#include "agent/growing_table.h"
#include "wire/log.h"

namespace heaptap::agent {

class StackTrie {
 public:
  bool start(wire::StackNode* nodes, wire::LogHeader* log) {
    nodes_ = nodes;
    log_ = log;
    return index_.start(2048);
  }

  // The number of `parent`'s stack with `code` called from it; kTableFull's root where there is no room left.
  uint32_t intern(uint32_t parent, uint32_t code) {
    const uint64_t node = wire::make_node(parent, code);
    const uint32_t hash = hash_of_node(node);
    const auto matches = [&](uint32_t number) { return nodes_[number].load(std::memory_order_relaxed) == node; };
    const uint32_t known = index_.find(hash, matches);
    return known != 0 ? known : add(node, hash);
  }

 private:
  static uint32_t hash_of_node(uint64_t node) { return static_cast<uint32_t>((node * 0x9e3779b97f4a7c15u) >> 32); }

  __attribute__((noinline)) uint32_t add(uint64_t node, uint32_t hash) {
    constexpr auto kFull = static_cast<uint32_t>(wire::StackEnd::kTableFull);
    if (log_->node_count.load(std::memory_order_relaxed) >= log_->node_capacity) return kFull;
    const uint32_t number = log_->node_count.fetch_add(1, std::memory_order_relaxed);
    if (number >= log_->node_capacity) return kFull;
    nodes_[number].store(node, std::memory_order_release);
    const uint32_t stands = index_.insert(
        number, hash, [&](uint32_t other) { return nodes_[other].load(std::memory_order_relaxed) == node; },
        [this](uint32_t other) { return hash_of_node(nodes_[other].load(std::memory_order_relaxed)); });
    return stands != 0 ? stands : number;
  }

  wire::StackNode* nodes_ = nullptr;
  wire::LogHeader* log_ = nullptr;
  GrowingTable<uint32_t> index_;
};

}  // namespace heaptap::agent
