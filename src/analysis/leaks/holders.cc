#include "analysis/leaks/holders.h"

#include <algorithm>

#include "analysis/leaks/reach.h"

namespace heaptap::leaks {

Holders::Holders(const model::HeapScan& scan, const LeakOptions& options)
    : scan_(scan), distances_(scan.blocks.size(), 0), parents_(scan.blocks.size()), pointers_(scan.blocks.size()) {
  std::vector<uint32_t> certain;
  find_certain(options, certain);
  find_possible(options, certain);
}

bool Holders::take(uint32_t block, uint32_t parent, uint32_t pointer) {
  if (distances_[block] != 0) return false;
  distances_[block] = parent == model::kNoBlock ? 1 : distances_[parent] + 1;
  parents_[block] = parent;
  pointers_[block] = pointer;
  return true;
}

void Holders::take_roots(bool certain, const LeakOptions& options, std::vector<uint32_t>& queue) {
  for (uint32_t i = 0; i < scan_.roots.size(); ++i) {
    const model::RootPointer& root = scan_.roots[i];
    if (!options.is_root(root.root) || options.is_certain(root.kind) != certain) continue;
    if (take(root.to, model::kNoBlock, i)) queue.push_back(root.to);
  }
}

void Holders::find_certain(const LeakOptions& options, std::vector<uint32_t>& queue) {
  take_roots(true, options, queue);
  spread(scan_, distances_, queue, [&](uint32_t from, uint32_t index) {
    const model::BlockPointer& pointer = scan_.pointers[index];
    return options.is_certain(pointer.kind) && take(pointer.to, from, index);
  });
}

// Breadth-first as well, merged by distance with the blocks of the first search.
void Holders::find_possible(const LeakOptions& options, const std::vector<uint32_t>& certain) {
  std::vector<uint32_t> queue;
  take_roots(false, options, queue);
  size_t from_certain = 0;
  size_t from_queue = 0;
  while (from_certain < certain.size() || from_queue < queue.size()) {
    const bool old = from_queue == queue.size() || (from_certain < certain.size() &&
                                                    distances_[certain[from_certain]] <= distances_[queue[from_queue]]);
    const uint32_t from = old ? certain[from_certain++] : queue[from_queue++];
    for (uint32_t i = scan_.pointers_begin[from]; i < scan_.pointers_begin[from + 1]; ++i) {
      if (take(scan_.pointers[i].to, from, i)) queue.push_back(scan_.pointers[i].to);
    }
  }
}

HolderPath Holders::path_to(uint32_t block) const {
  HolderPath path;
  if (distances_[block] == 0) return path;
  while (parents_[block] != model::kNoBlock) {
    path.steps.push_back({.block = parents_[block], .pointer = pointers_[block]});
    block = parents_[block];
  }
  std::reverse(path.steps.begin(), path.steps.end());
  path.root = pointers_[block];
  return path;
}

std::vector<HolderStep> way_between(const model::HeapScan& scan, uint32_t from, uint32_t to) {
  std::vector<HolderStep> before(scan.blocks.size(), {model::kNoBlock, 0});
  std::vector<uint32_t> queue{from};
  spread(scan, before, queue, [&](uint32_t block, uint32_t index) {
    HolderStep& step = before[scan.pointers[index].to];
    if (step.block != model::kNoBlock || before[to].block != model::kNoBlock) return false;
    step = {block, index};
    return true;
  });
  std::vector<HolderStep> steps;
  if (before[to].block == model::kNoBlock) return steps;
  uint32_t block = to;
  do {
    steps.push_back(before[block]);
    block = before[block].block;
  } while (block != from);
  std::reverse(steps.begin(), steps.end());
  return steps;
}

}  // namespace heaptap::leaks
