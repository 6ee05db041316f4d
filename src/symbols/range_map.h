// Which of many address ranges an address lies in. Ranges may nest and overlap; the one that began last wins, of those
// with the same beginning the shorter one, of equal ones the deeper one. Private to symbols/.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

namespace heaptap::symbols {

class RangeMap {
 public:
  struct Range {
    uint64_t begin = 0;
    uint64_t end = 0;  // the first address behind it; a range that doesn't end behind its beginning is left out
    uint32_t depth = 0;
    uint32_t value = 0;
  };

  RangeMap() = default;
  explicit RangeMap(std::vector<Range> ranges);

  [[nodiscard]] std::optional<uint32_t> find(uint64_t address) const;
  [[nodiscard]] bool empty() const { return pieces_.empty(); }

 private:
  // From `begin` up to the next piece the value holds.
  struct Piece {
    uint64_t begin;
    uint32_t value;
  };
  void append(uint64_t begin, uint32_t value);

  std::vector<Piece> pieces_;
};

}  // namespace heaptap::symbols
