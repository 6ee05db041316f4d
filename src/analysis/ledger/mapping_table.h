// Mapped ranges of the target. A mapping can be unmapped in parts, split or replaced by another at its place; page access can
// change range by range.
#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "analysis/ledger/block.h"
#include "common/model/mapped_memory.h"

namespace heaptap::ledger {

// Bytes of one mapping removed by an unmap or by a new mapping in its place.
struct UnmappedPart {
  uint64_t mapping = 0;  // number of the mapping, 1, 2, …
  Block block;           // the whole mapping as created
  uint64_t bytes = 0;
  bool last = false;  // nothing of the mapping is left
  wire::MappedMemory memory;
};

// Bytes of one mapping whose access changed.
struct ProtectedPart {
  Block block;  // the whole mapping as created
  uint64_t bytes = 0;
  wire::MappedMemory before;
  wire::MappedMemory after;
};

class MappingTable {
 public:
  explicit MappingTable(uint64_t page_bytes) : page_bytes_(page_bytes == 0 ? 4096 : page_bytes) {}

  // Adds a mapping at block.address; the range must be unmapped (see remove). Returns its number.
  uint64_t add(const Block& block, wire::MappedMemory memory);

  // Unmaps a range, its end rounded up to a page as in the kernel. Unmapped parts of the range are skipped. The result is valid
  // until the next call.
  const std::vector<UnmappedPart>& remove(uint64_t address, uint64_t length_bytes);

  // Sets the access of a range, rounded in the same way. The result is valid until the next call.
  const std::vector<ProtectedPart>& protect(uint64_t address, uint64_t length_bytes, wire::MappedAccess access);

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
    wire::MappedMemory memory;
  };
  using Ranges = std::map<uint64_t, Range>;
  struct Mapping {
    Block block;
    uint64_t bytes_left;
  };

  [[nodiscard]] uint64_t end_of_pages(uint64_t address, uint64_t length_bytes) const;
  // First range that ends after the address and starts at or after it; a range around the address is split.
  Ranges::iterator split_at(uint64_t address);
  void join(Ranges::iterator first, Ranges::iterator last);
  void take_away(const Range& range, uint64_t bytes);

  uint64_t page_bytes_;
  uint64_t last_number_ = 0;
  Ranges ranges_;  // by start; they don't overlap
  std::map<uint64_t, Mapping> mappings_;
  std::vector<UnmappedPart> parts_;
  std::vector<ProtectedPart> protected_;
};

}  // namespace heaptap::ledger
