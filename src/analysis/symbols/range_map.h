// Map from address ranges to values. Ranges may nest and overlap; the one that starts last wins, of equal starts the shorter one, of
// equal ranges the deeper one. Private to symbols/.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

namespace heaptap::symbols {

class RangeMap {
 public:
  struct Range {
    uint64_t begin = 0;
    uint64_t end = 0;  // exclusive; empty and inverted ranges are ignored
    uint32_t depth = 0;
    uint32_t value = 0;
  };

  RangeMap() = default;
  explicit RangeMap(std::vector<Range> ranges);

  [[nodiscard]] std::optional<uint32_t> find(uint64_t address) const;
  [[nodiscard]] bool empty() const { return pieces_.empty(); }

 private:
  // Value from `begin` up to the next piece.
  struct Piece {
    uint64_t begin;
    uint32_t value;
  };
  void append(uint64_t begin, uint32_t value);

  std::vector<Piece> pieces_;
};

}  // namespace heaptap::symbols
