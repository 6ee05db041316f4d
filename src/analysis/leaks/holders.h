// Shortest paths from roots to blocks: why a block is reachable. Of equally short ones, the path with the root and pointers that come
// first in the scan.
#pragma once
#include <cstdint>
#include <vector>

#include "analysis/leaks/classify.h"
#include "common/model/heap_scan.h"

namespace heaptap::leaks {

struct HolderStep {
  uint32_t block;    // index into HeapScan::blocks
  uint32_t pointer;  // index into HeapScan::pointers: the pointer in the block to the next step
};

struct HolderPath {
  uint32_t root = model::kNoBlock;  // index into HeapScan::roots; model::kNoBlock: no root leads to the block
  std::vector<HolderStep> steps;    // from the root, without the target block
};

// Built once for a scan (time and memory linear in it), queried for any block. Keeps a reference to the scan.
class Holders {
 public:
  explicit Holders(const model::HeapScan& scan, const LeakOptions& options = {});

  // Path of a reachable block: certain pointers alone; of a possibly lost block: uncertain ones too.
  [[nodiscard]] HolderPath path_to(uint32_t block) const;

  // Last pointer of the path to a block.
  struct Link {
    uint32_t block;  // the pointer's block; model::kNoBlock: a root, or nothing holds the block
    // Index into HeapScan::pointers, of a root into HeapScan::roots; model::kNoBlock: nothing holds the block.
    uint32_t pointer;
  };
  [[nodiscard]] Link link_of(uint32_t block) const {
    if (distances_[block] == 0) return {model::kNoBlock, model::kNoBlock};
    return {parents_[block], pointers_[block]};
  }

  // Length of the path in pointers, the root's included; 0: not reachable.
  [[nodiscard]] uint32_t distance(uint32_t block) const { return distances_[block]; }

 private:
  bool take(uint32_t block, uint32_t parent, uint32_t pointer);
  void take_roots(bool certain, const LeakOptions& options, std::vector<uint32_t>& queue);
  void find_certain(const LeakOptions& options, std::vector<uint32_t>& queue);
  void find_possible(const LeakOptions& options, const std::vector<uint32_t>& certain);

  const model::HeapScan& scan_;
  std::vector<uint32_t> distances_;
  std::vector<uint32_t> parents_;   // previous block of the path; model::kNoBlock: a root
  std::vector<uint32_t> pointers_;  // index into the scan's pointers, or into its roots if a root precedes
};

// Shortest path between two blocks, by pointers of any kind; from a block to itself, its shortest cycle. Empty if there is none.
[[nodiscard]] std::vector<HolderStep> way_between(const model::HeapScan& scan, uint32_t from, uint32_t to);

}  // namespace heaptap::leaks
