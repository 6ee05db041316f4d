// Why a block is held: a shortest way from a root to it. Of several that are equally short, the one from the root and through
// the pointers that come first in the scan.
#pragma once
#include <cstdint>
#include <vector>

#include "leaks/classify.h"
#include "model/heap_scan.h"

namespace heaptap::leaks {

struct HolderStep {
  uint32_t block;    // index into HeapScan::blocks
  uint32_t pointer;  // index into HeapScan::pointers of the pointer in it that leads on
};

struct HolderPath {
  uint32_t root = model::kNoBlock;  // index into HeapScan::roots; model::kNoBlock: no root leads to the block
  std::vector<HolderStep> steps;    // from the root on, without the block itself
};

// Made once for a scan (in time and memory linear in it), asked for any block. Keeps a reference to the scan.
class Holders {
 public:
  explicit Holders(const model::HeapScan& scan, const LeakOptions& options = {});

  // A reachable block's way has certain pointers alone, a possibly lost one's has uncertain ones.
  [[nodiscard]] HolderPath path_to(uint32_t block) const;

  // The last pointer of the way to a block.
  struct Link {
    uint32_t block;  // that it lies in; model::kNoBlock: it is a root, or nothing holds the block
    uint32_t
        pointer;  // index into HeapScan::pointers, of a root into HeapScan::roots; model::kNoBlock: nothing holds the block
  };
  [[nodiscard]] Link link_of(uint32_t block) const {
    if (distances_[block] == 0) return {model::kNoBlock, model::kNoBlock};
    return {parents_[block], pointers_[block]};
  }

  // How many pointers the way has, the root's included; 0: no root leads there.
  [[nodiscard]] uint32_t distance(uint32_t block) const { return distances_[block]; }

 private:
  bool take(uint32_t block, uint32_t parent, uint32_t pointer);
  void take_roots(bool certain, const LeakOptions& options, std::vector<uint32_t>& queue);
  void find_certain(const LeakOptions& options, std::vector<uint32_t>& queue);
  void find_possible(const LeakOptions& options, const std::vector<uint32_t>& certain);

  const model::HeapScan& scan_;
  std::vector<uint32_t> distances_;
  std::vector<uint32_t> parents_;   // the block before it; model::kNoBlock: a root is
  std::vector<uint32_t> pointers_;  // index into the scan's pointers, where a root is before it, into its roots
};

// A shortest way from one block to another, by pointers of any kind; from a block to itself a shortest cycle. Empty where there
// is none.
[[nodiscard]] std::vector<HolderStep> way_between(const model::HeapScan& scan, uint32_t from, uint32_t to);

}  // namespace heaptap::leaks
