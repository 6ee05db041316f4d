// Shares of blocks: a structure of variable size may consist of two arrays in one block, both as long as it is large (a
// hash table's slots before its entries), and the program keeps only a pointer to the second one. Such pointers lead to
// one share of blocks of all sizes. For the acceptance rules see docs/decisions/0121-headers-that-are-shares.md. Private
// to scan/.
#pragma once
#include <bit>
#include <cstdint>

#include "capture/scan/entrances.h"
#include "capture/scan/votes.h"

namespace heaptap::scan {

// Votes of a call's blocks on the share that is before the places pointed to.
class ShareVotes {
 public:
  // All are proposed before the first is counted.
  void propose(const Entrances& entrances, uint64_t size_bytes) {
    firsts_.propose(share_before(size_bytes, entrances.first));
  }
  void count(const Entrances& entrances, uint64_t size_bytes) {
    const bool leads_there = entrances.first != 0 && (entrances.shares & share_bit(firsts_.value)) != 0;
    const uint32_t first = share_before(size_bytes, entrances.first);
    if (leads_there) magnitudes_ |= uint64_t{1} << (std::bit_width(size_bytes) - 1);
    if (leads_there && first != firsts_.value) {
      ++also_before_;
    } else {
      firsts_.count(first);
    }
  }
  [[nodiscard]] bool agree_in(uint32_t share) const {
    return share != kNoShare && share == firsts_.value && firsts_.agree() && firsts_.agreeing >= kFewestBlocks &&
           also_before_ <= firsts_.agreeing / kAgreeingForOneAlsoBefore &&
           std::popcount(magnitudes_) >= kFewestMagnitudes;
  }

 private:
  static constexpr uint32_t kFewestBlocks = 8;
  static constexpr uint32_t kAgreeingForOneAlsoBefore = 4;
  static constexpr int kFewestMagnitudes = 3;

  Votes firsts_;              // by the first pointer to each block
  uint32_t also_before_ = 0;  // blocks with a pointer to that share, but not as their first
  uint64_t magnitudes_ = 0;  // bit n: a block with a pointer to that share has 2^n bytes or more, but less than 2^(n+1)
};

}  // namespace heaptap::scan
