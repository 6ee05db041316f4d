// Splitting of blocks around pool blocks for leak scans. A pool's block lies in a malloc block or a mapping, but a scanner's
// blocks must not overlap: so blocks that contain pool blocks are cut before a scan, and joined again after it. A pointer into
// a pool's block counts for that block alone; a pointer to a pool's block also holds the block that contains it.
#pragma once
#include <cstdint>
#include <vector>

#include "common/model/heap_scan.h"

namespace heaptap::supervision {

class PoolCut {
 public:
  // `blocks`: ascending, not nested. `pooled`: in any order; of overlapping ones one is used.
  PoolCut(const std::vector<model::ScannedBlock>& blocks, std::vector<model::ScannedBlock> pooled);

  // Blocks to scan: ascending, not nested. `lives`: of the blocks (or empty), is converted to that of the pieces.
  std::vector<model::ScannedBlock> pieces(std::vector<model::BlockLife>& lives) const;

  // Converts the scan of the pieces to one of the blocks. A pool's block at the start of its container is sorted after it.
  void join(model::HeapScan& scan, unsigned word_bytes) const;

 private:
  struct Piece {
    model::ScannedBlock block;
    uint32_t of;            // index into whole_
    uint64_t offset_bytes;  // in it
  };
  [[nodiscard]] const Piece* piece_at(uint64_t address) const;

  std::vector<model::ScannedBlock> whole_;  // all blocks, ascending
  std::vector<uint32_t> within_;            // of a pool's block: its container; else kNoBlock
  std::vector<uint32_t> places_;            // of the original blocks: index in whole_; for lives
  std::vector<Piece> pieces_;               // ascending
};

}  // namespace heaptap::supervision
