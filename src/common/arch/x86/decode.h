// Decoder of x86 instructions into parts, for 32-bit and 64-bit code. Sources: Intel SDM volume 2, chapter 2 and appendix A.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <span>

#include "common/arch/cpu.h"

namespace heaptap::arch::x86 {

enum class Mode : uint8_t { k32, k64 };

enum class Map : uint8_t {
  kOneByte,
  kTwoByte,    // behind 0f
  kThreeByte,  // behind 0f 38, 0f 3a
  kVector,     // after VEX, EVEX, XOP: only the length is decoded
};

enum class Segment : uint8_t { kFlat, kFs, kGs };

// Register numbers are those of the encoding: ax, cx, dx, bx, sp, bp, si, di, r8, …
enum RegisterNumber : uint8_t {
  kAx = 0,
  kCx = 1,
  kDx = 2,
  kSp = 4,
  kBp = 5,
  kProgramCounter = 0xfe,
  kNoRegister = 0xff
};

struct MemoryOperand {
  uint8_t base = kNoRegister;
  uint8_t index = kNoRegister;
  uint8_t scale_shift = 0;
  uint8_t width_bytes = 0;  // of the address
  Segment segment = Segment::kFlat;
  int64_t displacement = 0;
};

struct Parts {
  Mode mode = Mode::k64;
  Map map = Map::kOneByte;
  uint8_t length_bytes = 0;
  uint8_t opcode = 0;
  // Prefixes
  uint8_t rex = 0;  // 0: none
  bool has_operand_size = false;
  bool has_address_size = false;
  bool has_lock = false;
  bool has_repeat = false;            // f3
  bool has_repeat_not_equal = false;  // f2
  // The ModRM byte with what REX adds to its registers
  bool has_modrm = false;
  uint8_t mod = 0;
  uint8_t reg = 0;
  uint8_t rm = 0;
  bool has_memory = false;  // by ModRM, or an address in the place of an immediate
  Segment segment = Segment::kFlat;
  MemoryOperand memory;
  int64_t immediate = 0;  // sign-extended

  [[nodiscard]] bool has_rex_w() const { return (rex & 8) != 0; }
  [[nodiscard]] uint8_t modrm_group() const { return reg & 7; }  // where reg selects the instruction
};

// False: not understood, or truncated.
bool take_apart(Mode mode, std::span<const uint8_t> bytes, Parts& parts);

// Control flow of the instruction; doesn't set `can_emulate`.
Instruction flow_of(const Parts& parts, uint64_t address);

}  // namespace heaptap::arch::x86
