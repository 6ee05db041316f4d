// Jumps to fixed places, as bytes. Freestanding.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace heaptap::arch::aarch64 {

inline constexpr size_t kCodeStep = 4;  // where an instruction may begin
inline constexpr size_t kMaxJumpBytes = 4;

// Where the jump in these bytes leads, were they an instruction at this address; 0: they are no B and no B.cond.
inline uint64_t jump_target(const uint8_t* code, uint64_t address) {
  uint32_t word;
  __builtin_memcpy(&word, code, sizeof(word));
  const bool is_conditional = (word & 0xff000010u) == 0x54000000u;
  if (!is_conditional && (word & 0xfc000000u) != 0x14000000u) return 0;
  const auto shifted = static_cast<int32_t>(is_conditional ? word << 8 : word << 6);
  const int64_t words = is_conditional ? (shifted >> 13) : (shifted >> 6);
  return address + static_cast<uint64_t>(words * 4);
}

}  // namespace heaptap::arch::aarch64
