// Vtable addresses: in modules' read-only data, after the fields that the Itanium C++ ABI (2.5.2) puts before a vtable's first
// function: the offset to the top of the object (0 or negative) and the type information. Private to scan/.
#pragma once
#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <vector>

#include "capture/scan/block_index.h"
#include "capture/scan/counted_memory.h"

namespace heaptap::scan {

class Vtables {
 public:
  Vtables() = default;
  Vtables(std::vector<base::AddressRange> read_only_data, unsigned word_bytes);

  // Contains all of them; empty where there is no read-only data.
  [[nodiscard]] base::AddressRange span() const;
  // Contains those that the index may take for blocks; mostly empty.
  [[nodiscard]] base::AddressRange span_beside(const BlockIndex& blocks) const;

  // Reads the target's memory, each piece at most once.
  [[nodiscard]] bool is_vtable(uint64_t address, CountedMemory& memory);

 private:
  static constexpr uint64_t kPieceBytes = 4096;  // of memory; divides each machine's pages
  static constexpr size_t kMaxPieceWords = kPieceBytes / sizeof(uint32_t);
  static constexpr size_t kWordsBefore = 2;                 // fields before a vtable's address
  using Piece = std::array<uint64_t, kMaxPieceWords / 64>;  // a bit for each word that is a vtable's address

  [[nodiscard]] bool holds(uint64_t address) const;
  template <typename Word>
  [[nodiscard]] bool looks_like_one(const Word* words) const;
  template <typename Word>
  [[nodiscard]] Piece read_piece(uint64_t piece, CountedMemory& memory) const;

  unsigned word_shift_ = 3;                 // of a word's bytes
  std::vector<base::AddressRange> ranges_;  // ascending
  boost::unordered_flat_map<uint64_t, Piece> pieces_;
  uint64_t last_piece_ = 0;
  Piece last_{};
};

}  // namespace heaptap::scan
