// Opcode map: what follows each opcode, a ModRM byte, an immediate, or both. Source: Intel SDM volume 2, appendix A (opcode maps).
#pragma once
#include <stdint.h>

namespace heaptap::arch::x86 {

// One character for each opcode of a map, 16 a line:
//   .  nothing           m  ModRM                        x  no such instruction (or a prefix, or another map)
//   b  1 byte            B  ModRM, 1 byte                r  1 byte, a branch displacement
//   z  2 or 4 bytes      Z  ModRM, 2 or 4 bytes          R  4 bytes, the same
//   w  2 bytes           g  ModRM, 1 byte if it is test  v  2, 4 or 8 bytes
//   e  2 bytes, 1 byte   G  as g, 2 or 4 bytes           o  an address
//   f  a far address
using OpcodeMap = char[257];

inline constexpr OpcodeMap kOneByteMap =
    "mmmmbz..mmmmbz.x"
    "mmmmbz..mmmmbz.."
    "mmmmbzx.mmmmbzx."
    "mmmmbzx.mmmmbzx."
    "................"
    "................"
    "..mmxxxxzZbB...."
    "rrrrrrrrrrrrrrrr"
    "BZBBmmmmmmmmmmmm"
    "..........f....."
    "oooo....bz......"
    "bbbbbbbbvvvvvvvv"
    "BBw.mmBZe.w..b.."
    "mmmmbb..mmmmmmmm"
    "rrrrbbbbRRfr...."
    "x.xx..gG......mm";

inline constexpr OpcodeMap kTwoByteMap =  // behind 0f
    "mmmmx.....x.xm.B"
    "mmmmmmmmmmmmmmmm"
    "mmmmxxxxmmmmmmmm"
    "......x.xxxxxxxx"
    "mmmmmmmmmmmmmmmm"
    "mmmmmmmmmmmmmmmm"
    "mmmmmmmmmmmmmmmm"
    "BBBBmmm.mmxxmmmm"
    "RRRRRRRRRRRRRRRR"
    "mmmmmmmmmmmmmmmm"
    "...mBmxx...mBmmm"
    "mmmmmmmmmmBmmmmm"
    "mmBmBBBm........"
    "mmmmmmmmmmmmmmmm"
    "mmmmmmmmmmmmmmmm"
    "mmmmmmmmmmmmmmmm";

// Opcodes of the one-byte map that don't exist in 64-bit mode.
constexpr bool is_32_bit_only(uint8_t opcode) {
  constexpr uint8_t kGone[] = {0x06, 0x07, 0x0e, 0x16, 0x17, 0x1e, 0x1f, 0x27, 0x2f, 0x37, 0x3f, 0x60,
                               0x61, 0x62, 0x82, 0x9a, 0xc4, 0xc5, 0xce, 0xd4, 0xd5, 0xd6, 0xea};
  for (const uint8_t gone : kGone) {
    if (gone == opcode) return true;
  }
  return false;
}

// After VEX and EVEX prefixes that select the map of 0f.
constexpr char vector_form(uint8_t opcode) {
  if (opcode == 0x77) return '.';
  const bool has_immediate = (opcode >= 0x70 && opcode <= 0x73) || opcode == 0xc2 || (opcode >= 0xc4 && opcode <= 0xc6);
  return has_immediate ? 'B' : 'm';
}

}  // namespace heaptap::arch::x86
