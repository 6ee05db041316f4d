#include "analysis/report/node_merger.h"

namespace heaptap::report {

NodeIndex NodeMerger::merged_node(NodeIndex caller, FrameIndex frame) {
  const auto [found, is_new] = known_.try_emplace(uint64_t{caller} << 32 | frame, kRootNode);
  if (is_new) found->second = merged_.add(caller, frame);
  return found->second;
}

// A node may come before its caller, where stacks are cut.
std::vector<NodeIndex> NodeMerger::add(const FrameTrie& part, const std::vector<FrameIndex>& places) {
  constexpr NodeIndex kNotMade = ~NodeIndex{0};
  std::vector<NodeIndex> made(part.size(), kNotMade);
  made[kRootNode] = kRootNode;
  std::vector<NodeIndex> path;
  for (NodeIndex node = 1; node < part.size(); ++node) {
    for (NodeIndex next = node; made[next] == kNotMade; next = part[next].caller) path.push_back(next);
    for (; !path.empty(); path.pop_back()) {
      const FrameNode& next = part[path.back()];
      const bool is_named = next.frame != kNoFrame;
      made[path.back()] = is_named ? merged_node(made[next.caller], places[next.frame]) : kRootNode;
    }
  }
  return made;
}

}  // namespace heaptap::report
