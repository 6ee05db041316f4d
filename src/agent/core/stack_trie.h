// Trie of call stacks, as numbers: code entries in the log's shared memory, with a private index beside it. The index
// is keyed by a hash of the whole stack, which a walk computes without lookups: one probe finds a known stack, and the
// trie nodes on its way, usually made in one go and adjacent, prove it. Lock-free. A race may give the same stack a
// second number; readers merge them.
#pragma once
#include <stdint.h>

#include <atomic>

#include "agent/core/growing_part.h"
#include "agent/core/growing_table.h"
#include "agent/core/rule_table.h"
#include "common/wire/log.h"

namespace heaptap::agent {

// A stack: its number, and the hash of all its codes.
struct StackName {
  uint32_t node;
  uint32_t hash;
};

// The hash of a stack under a label, by the stack's number: the stack's own hash isn't available where a label is added.
constexpr uint32_t hash_of_labelled(uint32_t node, uint32_t code) {
  const uint64_t product = (uint64_t{node} << 32 | code) * 0xd6e8feb86659fd93u;
  return static_cast<uint32_t>(product >> 32);
}

// The name of a stack without frames.
constexpr StackName root_name(wire::StackEnd end) { return {static_cast<uint32_t>(end), static_cast<uint32_t>(end)}; }

// The hash of a stack with one frame more.
constexpr uint32_t hash_with(uint32_t hash, uint32_t code) {
  const uint64_t product = (uint64_t{hash} << 32 | code) * 0x9e3779b97f4a7c15u;
  const auto mixed = static_cast<uint32_t>(product >> 32);
  return mixed ^ mixed >> 15;
}

class StackTrie {
 public:
  // `count` of `capacity` nodes are mapped; more are once the collector permits more.
  bool start(wire::StackNode* nodes, uint32_t count, uint32_t capacity, wire::LogHeader* log) {
    nodes_.start(nodes, count, capacity, sizeof(wire::StackNode));
    log_ = log;
    number_mask_ = UINT32_MAX >> __builtin_clz((capacity - 1) | 1);
    return index_.start(2048);
  }

  [[nodiscard]] MappedPart memory() const { return index_.memory(); }
  [[nodiscard]] const GrowingPart& nodes() const { return nodes_; }

  // Prefetches for a lookup of the stack with this hash.
  void expect(uint32_t hash) const { index_.expect(hash); }

  // The number of the stack with this hash for which is_it(number) holds, or 0.
  template <typename IsIt>
  uint32_t find(uint32_t hash, const IsIt& is_it) const {
    uint32_t number = 0;
    index_.find(hash, [&](const Slot& slot) {
      const uint32_t word = slot.word.load(std::memory_order_acquire);  // pairs with the CAS in claim()
      if (((word ^ hash) & ~number_mask_) != 0 || word == 0 || !is_it(word & number_mask_)) return false;
      number = word & number_mask_;
      return true;
    });
    return number;
  }

  // For a number read from the log, which the program can overwrite.
  [[nodiscard]] uint64_t node(uint32_t number) const {
    return number < nodes_.count() ? at(number).load(std::memory_order_relaxed) : 0;
  }

  // The number of the unlabelled stack `stack` under a label; `stack` itself where there is no room left.
  uint32_t with_label(uint32_t stack, uint32_t label) {
    const uint32_t code = wire::kLabelCode | label;
    const uint32_t hash = hash_of_labelled(stack, code);
    const uint64_t wanted = wire::make_node(stack, code);
    const uint32_t known = find(hash, [&](uint32_t number) { return node(number) == wanted; });
    if (known != 0) [[likely]]
      return known;
    const uint32_t added = add(wanted, hash).node;
    return added != static_cast<uint32_t>(wire::StackEnd::kTableFull) ? added : stack;
  }

  // `parent` with `code` called from it; the root kTableFull where there is no room left.
  StackName intern(StackName parent, uint32_t code) {
    const uint32_t hash = hash_with(parent.hash, code);
    const uint64_t wanted = wire::make_node(parent.node, code);
    const uint32_t known = find(hash, [&](uint32_t number) { return node(number) == wanted; });
    return known != 0 ? StackName{known, hash} : add(wanted, hash);
  }

 private:
  // The number in the low bits, with as many bits of the hash above as fit.
  struct Slot {
    using Value = uint32_t;
    std::atomic<uint32_t> word;
    [[nodiscard]] bool is_empty() const { return word.load(std::memory_order_relaxed) == 0; }
    bool claim(uint32_t value) {
      uint32_t empty = 0;
      return word.compare_exchange_strong(empty, value, std::memory_order_acq_rel);
    }
    void copy(const Slot& other) { word.store(other.word.load(std::memory_order_relaxed), std::memory_order_relaxed); }
  };

  // Hashes of all nodes, computed for one use. A node's parent has a smaller number than the node.
  class Hashes {
   public:
    explicit Hashes(const StackTrie& trie) : mask_(trie.number_mask_) {
      const uint32_t made = trie.log_->node_count.load(std::memory_order_relaxed);
      count_ = made < trie.nodes_.count() ? made : trie.nodes_.count();
      bytes_ = sizeof(uint32_t) * count_;
      hashes_ = static_cast<uint32_t*>(kernel::map_memory(bytes_));
      if (hashes_ == nullptr) return;
      for (uint32_t number = 0; number < count_; ++number) {
        const uint64_t node = trie.node(number);
        hashes_[number] = hash_of(number, node);
      }
    }
    ~Hashes() {
      if (hashes_ != nullptr) kernel::unmap(hashes_, bytes_);
    }
    Hashes(const Hashes&) = delete;
    Hashes& operator=(const Hashes&) = delete;
    // Nodes that other threads have added in the meantime have none.
    uint64_t operator()(const Slot& slot) const {
      const uint32_t number = slot.word.load(std::memory_order_relaxed) & mask_;
      return hashes_ != nullptr && number < count_ ? hashes_[number] : GrowingTable<Slot>::kNoHash;
    }

   private:
    [[nodiscard]] uint32_t hash_of(uint32_t number, uint64_t node) const {
      const uint32_t parent = wire::node_parent(node);
      const uint32_t code = wire::node_code(node);
      if (number < wire::kRootCount) return number;
      if (wire::is_label_code(code)) return hash_of_labelled(parent, code);
      return parent < number ? hash_with(hashes_[parent], code) : number;
    }

    uint32_t mask_;
    uint32_t count_ = 0;
    size_t bytes_ = 0;
    uint32_t* hashes_ = nullptr;
  };

  // Of a number below count().
  [[nodiscard]] wire::StackNode& at(uint32_t number) const {
    return reinterpret_cast<wire::StackNode*>(nodes_.items())[number];
  }

  // Claims the next number. kNoEntry: there is none left that may be used.
  uint32_t claim_number() {
    const uint32_t mapped = nodes_.count();
    std::atomic<uint32_t>& count = log_->node_count;
    if (count.load(std::memory_order_relaxed) >= mapped && !nodes_.gets(mapped, log_->usable_nodes))
      return wire::kNoEntry;
    const uint32_t number = count.fetch_add(1, std::memory_order_relaxed);
    // Ahead of need, each by one thread: others have room meanwhile.
    if (number == mapped / 2) ring();
    if (number == mapped - mapped / 4) (void)nodes_.gets(mapped, log_->usable_nodes);
    return nodes_.gets(number, log_->usable_nodes) ? number : wire::kNoEntry;
  }

  // Wakes an idle collector, which makes more nodes usable.
  void ring() {
    log_->rings.fetch_add(1, std::memory_order_release);
    kernel::futex_wake(&log_->rings);
  }

  __attribute__((noinline)) StackName add(uint64_t node, uint32_t hash) {
    const uint32_t number = claim_number();
    if (number == wire::kNoEntry) {
      log_->was_without_node.store(1, std::memory_order_relaxed);
      return root_name(wire::StackEnd::kTableFull);
    }
    at(number).store(node, std::memory_order_release);
    const uint32_t word = number | (hash & ~number_mask_);
    // The slot's value is taken as it is compared: once another thread has grown the table, the slot is empty.
    uint32_t stands = number;
    index_.insert(
        word, hash,
        [&](const Slot& slot) {
          const uint32_t other = slot.word.load(std::memory_order_acquire);
          if (other == 0 || ((other ^ hash) & ~number_mask_) != 0 || this->node(other & number_mask_) != node) {
            return false;
          }
          stands = other & number_mask_;
          return true;
        },
        [this] { return Hashes(*this); });
    return {stands, hash};
  }

  GrowingPart nodes_;
  wire::LogHeader* log_ = nullptr;
  uint32_t number_mask_ = 0;
  GrowingTable<Slot> index_;
};

}  // namespace heaptap::agent
