#include "analysis/leaks/retained.h"

#include <algorithm>
#include <array>

namespace heaptap::leaks {
namespace {

void add_to(BlockTotal& total, uint64_t blocks, uint64_t bytes) {
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

// By block its topmost dominator, itself if it has none; model::kNoBlock of unreachable ones.
std::vector<uint32_t> tops_of(const Dominators& dominators) {
  std::vector<uint32_t> tops(dominators.parents.size(), model::kNoBlock);
  std::vector<uint32_t> passed;
  for (uint32_t block = 0; block < tops.size(); ++block) {
    if (dominators.retained_blocks[block] == 0) continue;
    uint32_t at = block;
    for (; tops[at] == model::kNoBlock && dominators.parents[at] != model::kNoBlock; at = dominators.parents[at]) {
      passed.push_back(at);
    }
    const uint32_t top = tops[at] == model::kNoBlock ? at : tops[at];
    tops[at] = top;
    for (; !passed.empty(); passed.pop_back()) tops[passed.back()] = top;
  }
  return tops;
}

// Search for the groups that lead to topmost dominators which are no groups themselves. Each keeps the first few found.
class SharedTops {
 public:
  // `scan`: with groups, whose blocks begin at `first_group`.
  SharedTops(const model::HeapScan& scan, const Dominators& dominators, const std::vector<uint32_t>& tops,
             size_t first_group)
      : dominators_(dominators), tops_(tops), first_group_(first_group), found_(scan.blocks.size()) {
    collect_edges(scan);
    for (uint32_t block = 0; block < scan.blocks.size(); ++block) {
      if (block >= first_group && tops[block] == block) add(block, static_cast<uint32_t>(block - first_group));
    }
    while (!queue_.empty()) {
      const uint32_t top = queue_.back();
      queue_.pop_back();
      pass_on(top);
    }
  }

  void add_up(std::vector<BlockTotal>& sharing) const {
    for (uint32_t block = 0; block < first_group_; ++block) {
      if (tops_[block] != block) continue;
      for (uint32_t i = 0; i < found_[block].count; ++i) {
        add_to(sharing[found_[block].groups[i]], dominators_.retained_blocks[block], dominators_.retained_bytes[block]);
      }
    }
  }

 private:
  static constexpr size_t kMaxGroups = 4;
  struct Found {
    std::array<uint32_t, kMaxGroups> groups{};
    uint32_t count = 0;
  };
  struct Edge {
    uint32_t from, to;  // topmost dominators
    bool operator<(const Edge& other) const { return from != other.from ? from < other.from : to < other.to; }
    bool operator==(const Edge&) const = default;
  };

  void collect_edges(const model::HeapScan& scan) {
    for (uint32_t block = 0; block < scan.blocks.size(); ++block) {
      if (tops_[block] == model::kNoBlock) continue;
      for (uint32_t i = scan.pointers_begin[block]; i < scan.pointers_begin[block + 1]; ++i) {
        const uint32_t to = scan.pointers[i].to;
        if (tops_[to] == to && tops_[block] != to) edges_.push_back({tops_[block], to});
      }
    }
    std::sort(edges_.begin(), edges_.end());
    edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
  }

  void add(uint32_t top, uint32_t group) {
    Found& found = found_[top];
    const auto end = found.groups.begin() + found.count;
    if (found.count == kMaxGroups || std::find(found.groups.begin(), end, group) != end) return;
    found.groups[found.count++] = group;
    queue_.push_back(top);
  }

  void pass_on(uint32_t top) {
    const Found found = found_[top];
    for (auto edge = std::lower_bound(edges_.begin(), edges_.end(), Edge{top, 0});
         edge != edges_.end() && edge->from == top; ++edge) {
      for (uint32_t i = 0; i < found.count; ++i) add(edge->to, found.groups[i]);
    }
  }

  const Dominators& dominators_;
  const std::vector<uint32_t>& tops_;
  size_t first_group_;
  std::vector<Found> found_;  // by block
  std::vector<Edge> edges_;   // ascending
  std::vector<uint32_t> queue_;
};

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
    add_to(totals[group].own, 1, scan.blocks[block].size_bytes);
    if (open[group]++ == 0) {
      add_to(totals[group].retained, dominators.retained_blocks[block], dominators.retained_bytes[block]);
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

RootGroups retained_by_roots(const model::HeapScan& scan, std::span<const uint32_t> groups, uint32_t count,
                             const LeakOptions& options) {
  RootGroups made{.retained = std::vector<BlockTotal>(count),
                  .sharing = std::vector<BlockTotal>(count),
                  .of_blocks = std::vector<uint32_t>(scan.blocks.size(), kNoGroup)};
  if (scan.pointers_begin.empty()) return made;
  const model::HeapScan grouped = with_groups(scan, groups, count, options);
  const Dominators dominators = find_dominators(grouped, options);
  const std::vector<uint32_t> tops = tops_of(dominators);
  const size_t first_group = scan.blocks.size();
  for (uint32_t block = 0; block < first_group; ++block) {
    if (tops[block] == model::kNoBlock || tops[block] < first_group) continue;
    made.of_blocks[block] = static_cast<uint32_t>(tops[block] - first_group);
    add_to(made.retained[made.of_blocks[block]], 1, scan.blocks[block].size_bytes);
  }
  SharedTops(grouped, dominators, tops, first_group).add_up(made.sharing);
  return made;
}

}  // namespace heaptap::leaks
