// Jumps to fixed places, as bytes. Freestanding.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace heaptap::arch::powerpc {

inline constexpr size_t kCodeStep = 4;  // where an instruction may begin
inline constexpr size_t kMaxJumpBytes = 4;

// Where the jump in these bytes leads, were they an instruction at this address; 0: they are no b and no bc, relative and without a link
// (Power ISA, Book I, 2.4: I-form, B-form).
inline uint64_t jump_target(const uint8_t* code, uint64_t address) {
  const uint32_t word = uint32_t{code[0]} << 24 | uint32_t{code[1]} << 16 | uint32_t{code[2]} << 8 | code[3];
  const bool is_conditional = (word & 0xfc000003u) == 0x40000000u;
  if (!is_conditional && (word & 0xfc000003u) != 0x48000000u) return 0;
  const auto shifted = static_cast<int32_t>(is_conditional ? word << 16 : word << 6);
  const int32_t offset = is_conditional ? shifted >> 16 : shifted >> 6;
  return static_cast<uint32_t>(static_cast<uint32_t>(address) + static_cast<uint32_t>(offset));
}

}  // namespace heaptap::arch::powerpc
