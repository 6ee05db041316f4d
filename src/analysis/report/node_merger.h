// Merger of several reports' stacks into one trie, in which equal stacks are one node.
#pragma once
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <vector>

#include "analysis/report/frame_trie.h"

namespace heaptap::report {

class NodeMerger {
 public:
  // `merged` must outlive this.
  explicit NodeMerger(FrameTrie& merged) : merged_(merged) {}

  // The merged node of each of another trie's; `places` has the merged table's number of each of its frames.
  std::vector<NodeIndex> add(const FrameTrie& part, const std::vector<FrameIndex>& places);

 private:
  NodeIndex merged_node(NodeIndex caller, FrameIndex frame);

  FrameTrie& merged_;
  boost::unordered_flat_map<uint64_t, NodeIndex> known_;  // by caller's node and frame
};

}  // namespace heaptap::report
