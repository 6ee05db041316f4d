// Trie of a report's stacks: the path from a node to the root is a stack, innermost frame first, inlined ones included. Programs have many
// stacks, and these share most of their outer frames: as lists of their own they would take a hundred times as much memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

namespace heaptap::report {

using FrameIndex = uint32_t;
inline constexpr FrameIndex kNoFrame = ~FrameIndex{0};

using NodeIndex = uint32_t;
inline constexpr NodeIndex kRootNode = 0;  // below the outermost frames; without a frame

// A stack, or its innermost `size` frames.
struct FramePath {
  NodeIndex node = kRootNode;
  uint32_t size = 0;
  bool is_cut = false;  // there are more frames outwards

  [[nodiscard]] bool empty() const { return size == 0; }
  // The innermost frames alone, at most that many.
  [[nodiscard]] FramePath cut(uint32_t most) const { return size > most ? FramePath{node, most, true} : *this; }
  bool operator==(const FramePath&) const = default;
};

struct FrameNode {
  NodeIndex caller = kRootNode;  // a smaller index, if the node was named after its caller
  FrameIndex frame = kNoFrame;   // kNoFrame: not named, since all stacks through it are cut before it
};

// The frames of a stack by index, innermost first. Refers to its trie.
class FrameIndices {
 public:
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = FrameIndex;
    using difference_type = std::ptrdiff_t;
    using pointer = const FrameIndex*;
    using reference = FrameIndex;

    Iterator() = default;
    Iterator(const FrameNode* nodes, FramePath rest) : nodes_(nodes), rest_(rest) {}
    FrameIndex operator*() const { return nodes_[rest_.node].frame; }
    Iterator& operator++() {
      rest_.node = nodes_[rest_.node].caller;
      --rest_.size;
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const Iterator& other) const { return rest_.size == other.rest_.size; }

   private:
    const FrameNode* nodes_ = nullptr;
    FramePath rest_;
  };

  FrameIndices(const FrameNode* nodes, FramePath path) : nodes_(nodes), path_(path) {}
  [[nodiscard]] Iterator begin() const { return {nodes_, path_}; }
  [[nodiscard]] Iterator end() const { return {nodes_, {}}; }
  [[nodiscard]] size_t size() const { return path_.size; }
  [[nodiscard]] bool empty() const { return path_.size == 0; }

 private:
  const FrameNode* nodes_;
  FramePath path_;
};

class FrameTrie {
 public:
  // A new node for a frame called by another node's.
  NodeIndex add(NodeIndex caller, FrameIndex frame) {
    nodes_.push_back({caller, frame});
    return static_cast<NodeIndex>(nodes_.size() - 1);
  }
  // A node that gets its frame later, or never.
  NodeIndex reserve() { return add(kRootNode, kNoFrame); }
  void set(NodeIndex node, FrameNode content) { nodes_[node] = content; }
  // A stack that shares nothing with others.
  FramePath add(std::span<const FrameIndex> frames) {
    NodeIndex node = kRootNode;
    for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) node = add(node, *frame);
    return {node, static_cast<uint32_t>(frames.size()), false};
  }

  const FrameNode& operator[](NodeIndex node) const { return nodes_[node]; }
  [[nodiscard]] size_t size() const { return nodes_.size(); }
  [[nodiscard]] FrameIndices indices(FramePath path) const { return {nodes_.data(), path}; }

 private:
  std::vector<FrameNode> nodes_ = std::vector<FrameNode>(1);
};

// Copies stacks into another trie, and numbers their frames anew: `place_of` returns the new number of a frame, and is called for the
// innermost frame of a stack first.
template <typename PlaceOf>
class TrieCopy {
 public:
  TrieCopy(const FrameTrie& from, FrameTrie& to, PlaceOf place_of)
      : from_(from), to_(to), place_of_(std::move(place_of)), nodes_(from.size(), kRootNode) {}

  FramePath operator()(FramePath path) {
    path_.clear();
    NodeIndex node = path.node;
    while (path_.size() < path.size && (path.is_cut || nodes_[node] == kRootNode)) {
      path_.push_back(node);
      node = from_[node].caller;
    }
    for (const NodeIndex each : path_) frames_.push_back(place_of_(from_[each].frame));
    NodeIndex copied = path.is_cut ? kRootNode : nodes_[node];
    for (; !path_.empty(); path_.pop_back(), frames_.pop_back()) {
      copied = to_.add(copied, frames_.back());
      if (!path.is_cut) nodes_[path_.back()] = copied;
    }
    return {copied, path.size, path.is_cut};
  }

 private:
  const FrameTrie& from_;
  FrameTrie& to_;
  PlaceOf place_of_;
  std::vector<NodeIndex> nodes_;  // copies of those whose callers are copied, too
  std::vector<NodeIndex> path_;
  std::vector<FrameIndex> frames_;
};

}  // namespace heaptap::report
