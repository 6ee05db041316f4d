// Values of the nodes of a trie, each made of its caller's value, once: what all stacks need costs as much as their nodes, not as their frames.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "analysis/report/frame_trie.h"

namespace heaptap::report {

template <typename Value>
class PathValues {
 public:
  PathValues(const FrameTrie& trie, Value root)
      : trie_(trie), root_(std::move(root)), values_(trie.size(), root_), depths_(trie.size()) {}

  // The value of a stack's innermost frame. `make` is called with the value of its caller, and with a frame.
  template <typename Make>
  Value operator()(FramePath path, const Make& make) {
    NodeIndex node = path.node;
    while (missing_.size() < path.size && depths_[node] != path.size - missing_.size()) {
      missing_.push_back(node);
      node = trie_[node].caller;
    }
    Value value = missing_.size() == path.size ? root_ : values_[node];
    for (; !missing_.empty(); missing_.pop_back()) {
      value = make(value, trie_[missing_.back()].frame);
      values_[missing_.back()] = value;
      depths_[missing_.back()] = path.size - static_cast<uint32_t>(missing_.size()) + 1;
    }
    return value;
  }

 private:
  const FrameTrie& trie_;
  Value root_;
  std::vector<Value> values_;
  // Number of frames that a node's value is made of, which differs where stacks are cut; 0: it has none.
  std::vector<uint32_t> depths_;
  std::vector<NodeIndex> missing_;  // in the path at hand, innermost first; empty between calls
};

}  // namespace heaptap::report
