// Jumps to fixed places, as bytes. Freestanding.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace heaptap::arch::arm {

inline constexpr size_t kCodeStep = 2;  // where an instruction may begin
inline constexpr size_t kMaxJumpBytes = 4;

// Where the jump in these bytes leads, were they an instruction at this address; 0: they are no B.W and no B<cond>.W of Thumb (Arm ARM
// for ARMv7-A, A8.8.18, encodings T4 and T3).
inline uint64_t jump_target(const uint8_t* code, uint64_t address) {
  uint16_t first;
  uint16_t second;
  __builtin_memcpy(&first, code, sizeof(first));
  __builtin_memcpy(&second, code + sizeof(first), sizeof(second));
  if ((first & 0xf800u) != 0xf000u || (second & 0xc000u) != 0x8000u) return 0;
  const bool is_far = (second & 0x1000u) != 0;
  const uint32_t sign = first >> 10 & 1u;
  const uint32_t j1 = second >> 13 & 1u;
  const uint32_t j2 = second >> 11 & 1u;
  uint32_t offset = (second & 0x7ffu) << 1;
  if (is_far) {
    offset |=
        (first & 0x3ffu) << 12 | (~(j2 ^ sign) & 1u) << 22 | (~(j1 ^ sign) & 1u) << 23 | (sign != 0 ? 0xff000000u : 0);
  } else {
    if ((first & 0x380u) == 0x380u) return 0;  // another instruction
    offset |= (first & 0x3fu) << 12 | j1 << 18 | j2 << 19 | (sign != 0 ? 0xfff00000u : 0);
  }
  return static_cast<uint32_t>(static_cast<uint32_t>(address) + 4 + offset);
}

}  // namespace heaptap::arch::arm
