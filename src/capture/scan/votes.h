// Majority vote over blocks that belong together: the value that nearly all of them share. Private to scan/.
#pragma once
#include <cstdint>

namespace heaptap::scan {

struct Votes {
  static constexpr uint32_t kFewestBlocks = 4;
  static constexpr uint32_t kAgreeingForOneOther = 16;

  uint32_t value = 0;  // the majority value, if there is one
  uint32_t lead = 0;   // of this value over all others, during the vote
  uint32_t agreeing = 0;
  uint32_t others = 0;

  // Boyer-Moore majority vote. All are proposed before the first is counted.
  void propose(uint32_t other) {
    if (lead == 0) value = other;
    if (value == other) {
      ++lead;
    } else {
      --lead;
    }
  }
  void count(uint32_t other) { ++(value == other ? agreeing : others); }

  [[nodiscard]] bool agree() const { return agreeing >= kFewestBlocks && others <= agreeing / kAgreeingForOneOther; }
};

}  // namespace heaptap::scan
