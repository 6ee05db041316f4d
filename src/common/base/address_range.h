// Address range of a target.
#pragma once
#include <cstdint>

namespace heaptap::base {

struct AddressRange {
  uint64_t begin = 0;
  uint64_t end = 0;  // the first address behind it

  [[nodiscard]] uint64_t size() const { return end - begin; }
  [[nodiscard]] bool contains(uint64_t address) const { return address >= begin && address < end; }
  bool operator==(const AddressRange&) const = default;
};

}  // namespace heaptap::base
