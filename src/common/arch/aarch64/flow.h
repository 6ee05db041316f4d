// Control flow of AArch64 instructions. Source: Arm Architecture Reference Manual for A-profile, C4.1 (encoding of the A64 instruction
// set: branches, exception generating and system instructions).
#pragma once
#include <stdint.h>

#include "common/arch/cpu.h"

namespace heaptap::arch::aarch64 {

// Signed number in the `bits` bits of `word` from `shift` on.
constexpr int64_t signed_field(uint32_t word, unsigned shift, unsigned bits) {
  return static_cast<int64_t>(uint64_t{word} << (64 - shift - bits)) >> (64 - bits);
}

// All instructions have four bytes, and those that aren't branches go on behind themselves.
constexpr Instruction flow_of(uint32_t word, uint64_t address) {
  const auto to = [address](int64_t words) { return address + static_cast<uint64_t>(words * 4); };
  const auto made = [](Flow flow, uint64_t target = 0) {
    return Instruction{.length_bytes = 4, .flow = flow, .can_emulate = false, .target = target};
  };
  if ((word & 0x7c000000) == 0x14000000) {  // B, BL
    return made((word >> 31) != 0 ? Flow::kCall : Flow::kJump, to(signed_field(word, 0, 26)));
  }
  if ((word & 0xff000000) == 0x54000000) return made(Flow::kBranch, to(signed_field(word, 5, 19)));  // B.cond, BC.cond
  if ((word & 0x7e000000) == 0x34000000) return made(Flow::kBranch, to(signed_field(word, 5, 19)));  // CBZ, CBNZ
  if ((word & 0x7e000000) == 0x36000000) return made(Flow::kBranch, to(signed_field(word, 5, 14)));  // TBZ, TBNZ
  if ((word & 0xfe000000) == 0xd6000000) {  // to an address in a register, with or without authentication
    switch (word >> 21 & 0xf) {
      case 0x0:  // BR
      case 0x8:  // BRA
        return made(Flow::kIndirectJump);
      case 0x1:  // BLR
      case 0x9:  // BLRA
        return made(Flow::kCall);
      case 0x2:  // RET
        return made(Flow::kReturn);
      default:  // ERET, DRPS: not in programs
        return made(Flow::kStop);
    }
  }
  if ((word & 0xffe0001f) == 0xd4200000 || (word & 0xffff0000) == 0) return made(Flow::kStop);  // BRK, UDF
  return made(Flow::kNext);
}

}  // namespace heaptap::arch::aarch64
