// The mapped ranges of the target. A mapping can be unmapped in pieces, split, or replaced by another one in its place, and what
// may be done with its pages changed piece by piece.
#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "ledger/block.h"
#include "model/mapped_memory.h"

namespace heaptap::ledger {

// Bytes of one mapping that an unmap (or a mapping in its place) took away.
struct UnmappedPart {
  uint64_t mapping = 0;  // number of the mapping, 1, 2, …
  Block block;           // the whole mapping as it was made
  uint64_t bytes = 0;
  bool last = false;  // nothing of the mapping is left
  wire::MappedMemory memory;
};

// Bytes of one mapping whose access was changed.
struct ProtectedPart {
  model::SiteId site = kNoSite;  // of the mapping
  uint64_t bytes = 0;
  wire::MappedMemory before;
  wire::MappedMemory after;
};

class MappingTable {
 public:
  explicit MappingTable(uint64_t page_bytes) : page_bytes_(page_bytes == 0 ? 4096 : page_bytes) {}

  // Adds a mapping at block.address; nothing may be mapped there (see remove). Returns its number.
  uint64_t add(const Block& block, wire::MappedMemory memory);

  // Takes away what is mapped in a range, whose end is rounded up to a page as the kernel does. Ranges that nobody
  // mapped are passed over. The result is valid until the next call.
  const std::vector<UnmappedPart>& remove(uint64_t address, uint64_t length_bytes);

  // What is mapped in a range, rounded up in the same way, has this access from now on. Valid until the next call.
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
  // The first range that ends behind the address, which begins there or behind it: one around it is split.
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
