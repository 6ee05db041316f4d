// Leak scans of processes that told of pools of their own. A block of a pool lies in a block of malloc, or in a mapping. A scanner's blocks
// don't overlap: so what holds blocks of pools is cut around them before a scan, and its pieces are put together after it. A pointer into
// a pool's block is that block's, and none of what it lies in; who holds a pool's block holds what it lies in, too.
#pragma once
#include <cstdint>
#include <vector>

#include "model/heap_scan.h"

namespace heaptap::collect {

class PoolCut {
 public:
  // `blocks`: ascending, none in another. `pooled`: in any order; of those that overlap one counts.
  PoolCut(const std::vector<model::ScannedBlock>& blocks, std::vector<model::ScannedBlock> pooled);

  // What is to be scanned: ascending, none in another. `lives`: of the blocks (or empty), is made that of the pieces.
  std::vector<model::ScannedBlock> pieces(std::vector<model::BlockLife>& lives) const;

  // The scan of the pieces becomes that of the blocks. Where a block of a pool begins with what it lies in, it comes behind that.
  void join(model::HeapScan& scan, unsigned word_bytes) const;

 private:
  struct Piece {
    model::ScannedBlock block;
    uint32_t of;            // index into whole_
    uint64_t offset_bytes;  // in it
  };
  [[nodiscard]] const Piece* piece_at(uint64_t address) const;

  std::vector<model::ScannedBlock> whole_;  // all blocks, ascending
  std::vector<uint32_t> within_;            // of a pool's block: what it lies in; else kNoBlock
  std::vector<uint32_t> places_;            // of the blocks as they were given: where they are in whole_; for lives
  std::vector<Piece> pieces_;               // ascending
};

}  // namespace heaptap::collect
