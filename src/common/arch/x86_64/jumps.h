// Jumps to fixed places, as bytes. Freestanding.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace heaptap::arch::x86_64 {

inline constexpr size_t kCodeStep = 1;  // where an instruction may begin
inline constexpr size_t kMaxJumpBytes = 6;

// Where the jump in these bytes leads, were they an instruction at this address; 0: they are no jump with a distance of 32 bits.
inline uint64_t jump_target(const uint8_t* code, uint64_t address) {
  const bool is_conditional = code[0] == 0x0f && (code[1] & 0xf0u) == 0x80;
  if (!is_conditional && code[0] != 0xe9) return 0;
  const size_t opcode_bytes = is_conditional ? 2 : 1;
  int32_t distance;
  __builtin_memcpy(&distance, code + opcode_bytes, sizeof(distance));
  return address + opcode_bytes + sizeof(distance) + static_cast<uint64_t>(int64_t{distance});
}

}  // namespace heaptap::arch::x86_64
