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
    std::vector<NodeIndex> missing;
    NodeIndex node = path.node;
    while (missing.size() < path.size && depths_[node] != path.size - missing.size()) {
      missing.push_back(node);
      node = trie_[node].caller;
    }
    Value value = missing.size() == path.size ? root_ : values_[node];
    for (; !missing.empty(); missing.pop_back()) {
      value = make(value, trie_[missing.back()].frame);
      values_[missing.back()] = value;
      depths_[missing.back()] = path.size - static_cast<uint32_t>(missing.size()) + 1;
    }
    return value;
  }

  // The value of the innermost node of a stack that has one, and the number of frames inwards of it.
  [[nodiscard]] std::pair<Value, uint32_t> known_part(FramePath path) const {
    NodeIndex node = path.node;
    uint32_t inner = 0;
    while (inner < path.size && depths_[node] != path.size - inner) {
      node = trie_[node].caller;
      ++inner;
    }
    return {inner == path.size ? root_ : values_[node], inner};
  }

 private:
  const FrameTrie& trie_;
  Value root_;
  std::vector<Value> values_;
  // Number of frames that a node's value is made of, which differs where stacks are cut; 0: it has none.
  std::vector<uint32_t> depths_;
};

}  // namespace heaptap::report
