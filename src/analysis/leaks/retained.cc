#include "analysis/leaks/retained.h"

namespace heaptap::leaks {
namespace {

void add(BlockTotal& total, uint64_t blocks, uint64_t bytes) {
  total.blocks += blocks;
  total.bytes += bytes;
}

// Dominator tree: the children of block i are children[begin[i]] to children[begin[i + 1]].
struct DominatorTree {
  std::vector<uint32_t> begin;
  std::vector<uint32_t> children;

  explicit DominatorTree(const std::vector<uint32_t>& parents) : begin(parents.size() + 1), children() {
    for (const uint32_t parent : parents) {
      if (parent != model::kNoBlock) ++begin[parent];
    }
    uint32_t end = 0;
    for (uint32_t& each : begin) each = end += each;
    children.resize(end);
    for (uint32_t block = 0; block < parents.size(); ++block) {
      if (parents[block] != model::kNoBlock) children[--begin[parents[block]]] = block;
    }
  }
};

// The scan with an empty block for each group, between the group's roots and the blocks they point to.
model::HeapScan with_groups(const model::HeapScan& scan, std::span<const uint32_t> groups, uint32_t count,
                            const LeakOptions& options) {
  model::HeapScan made;
  made.blocks = scan.blocks;
  made.pointers = scan.pointers;
  made.pointers_begin = scan.pointers_begin;
  std::vector<std::vector<model::BlockPointer>> pointers(count);
  for (size_t i = 0; i < scan.roots.size(); ++i) {
    model::RootPointer root = scan.roots[i];
    if (!options.is_root(root.root)) continue;
    if (groups[i] != kNoGroup) {
      std::vector<model::BlockPointer>& of_group = pointers[groups[i]];
      of_group.push_back({.to = root.to, .offset = 0, .kind = root.kind});
      root.to = static_cast<uint32_t>(scan.blocks.size() + groups[i]);
    }
    made.roots.push_back(root);
  }
  for (const std::vector<model::BlockPointer>& of_group : pointers) {
    made.blocks.push_back({.address = 0, .size_bytes = 0, .number = 0, .site = 0, .type = 0});
    made.pointers.insert(made.pointers.end(), of_group.begin(), of_group.end());
    made.pointers_begin.push_back(static_cast<uint32_t>(made.pointers.size()));
  }
  return made;
}

}  // namespace

std::vector<GroupTotal> retained_by_groups(const model::HeapScan& scan, const Dominators& dominators,
                                           std::span<const uint32_t> groups, uint32_t count) {
  std::vector<GroupTotal> totals(count);
  const DominatorTree tree(dominators.parents);
  std::vector<uint32_t> next(tree.begin.begin(), tree.begin.end());
  std::vector<uint32_t> open(count);  // blocks of the group on the current path
  std::vector<uint32_t> path;
  const auto enter = [&](uint32_t block) {
    const uint32_t group = groups[block];
    add(totals[group].own, 1, scan.blocks[block].size_bytes);
    if (open[group]++ == 0) {
      add(totals[group].retained, dominators.retained_blocks[block], dominators.retained_bytes[block]);
    }
    path.push_back(block);
  };
  for (uint32_t top = 0; top < scan.blocks.size(); ++top) {
    if (dominators.parents[top] != model::kNoBlock || dominators.retained_blocks[top] == 0) continue;
    enter(top);
    while (!path.empty()) {
      const uint32_t block = path.back();
      if (next[block] < tree.begin[block + 1]) {
        enter(tree.children[next[block]++]);
      } else {
        --open[groups[block]];
        path.pop_back();
      }
    }
  }
  return totals;
}

std::vector<BlockTotal> retained_by_roots(const model::HeapScan& scan, std::span<const uint32_t> groups, uint32_t count,
                                          const LeakOptions& options) {
  std::vector<BlockTotal> totals(count);
  if (scan.pointers_begin.empty()) return totals;
  const Dominators dominators = find_dominators(with_groups(scan, groups, count, options), options);
  for (uint32_t group = 0; group < count; ++group) {
    const size_t block = scan.blocks.size() + group;
    if (dominators.retained_blocks[block] == 0) continue;
    totals[group] = {dominators.retained_blocks[block] - 1, dominators.retained_bytes[block]};
  }
  return totals;
}

}  // namespace heaptap::leaks
