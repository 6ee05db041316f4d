// What blocks that belong together agree in, if nearly all of them do. Private to scan/.
#pragma once
#include <cstdint>

namespace heaptap::scan {

struct Votes {
  static constexpr uint32_t kFewestBlocks = 4;
  static constexpr uint32_t kAgreeingForOneOther = 16;

  uint32_t value = 0;  // that most of them agree in, if most do
  uint32_t lead = 0;   // of this value over all others, while it is being found
  uint32_t agreeing = 0;
  uint32_t others = 0;

  // Boyer and Moore's way to find which one may have the majority. All are proposed before the first is counted.
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
