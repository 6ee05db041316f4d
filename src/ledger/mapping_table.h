// The mapped ranges of the target. A mapping can be unmapped in pieces, split, or replaced by another one in its place.
#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "ledger/block.h"

namespace heaptap::ledger {

// Bytes of one mapping that an unmap (or a mapping in its place) took away.
struct UnmappedPart {
  uint64_t mapping = 0;  // number of the mapping, 1, 2, …
  Block block;           // the whole mapping as it was made
  uint64_t bytes = 0;
  bool last = false;  // nothing of the mapping is left
};

class MappingTable {
 public:
  explicit MappingTable(uint64_t page_bytes) : page_bytes_(page_bytes == 0 ? 4096 : page_bytes) {}

  // Adds a mapping at block.address; nothing may be mapped there (see remove). Returns its number.
  uint64_t add(const Block& block);

  // Takes away what is mapped in a range, whose end is rounded up to a page as the kernel does. Ranges that nobody
  // mapped are passed over. The result is valid until the next call.
  const std::vector<UnmappedPart>& remove(uint64_t address, uint64_t length_bytes);

  // Calls visit(number, block, bytes left) in order of the numbers.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (const auto& [number, mapping] : mappings_) {
      visit(number, mapping.block, mapping.bytes_left);
    }
  }

 private:
  struct Range {
    uint64_t end;
    uint64_t mapping;
  };
  struct Mapping {
    Block block;
    uint64_t bytes_left;
  };

  void take_away(uint64_t mapping, uint64_t bytes);

  uint64_t page_bytes_;
  uint64_t last_number_ = 0;
  std::map<uint64_t, Range> ranges_;  // by start; they don't overlap
  std::map<uint64_t, Mapping> mappings_;
  std::vector<UnmappedPart> parts_;
};

}  // namespace heaptap::ledger
