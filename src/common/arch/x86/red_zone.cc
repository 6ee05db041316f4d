#include "common/arch/x86/red_zone.h"

namespace heaptap::arch::x86 {
namespace {

// With VEX and EVEX the numbers' high bits are unknown: then r12 counts as the stack pointer, too.
bool is_based_on_stack_pointer(const Parts& parts) { return parts.has_memory && parts.memory.base == kSp; }

bool reaches_below(const Parts& parts) { return is_based_on_stack_pointer(parts) && parts.memory.displacement < 0; }

// add and sub of a constant
bool moves_stack_pointer(const Parts& parts) {
  const bool is_arithmetic = parts.map == Map::kOneByte && (parts.opcode == 0x81 || parts.opcode == 0x83);
  return is_arithmetic && parts.mod == 3 && parts.rm == kSp && (parts.reg == 0 || parts.reg == 5);
}

// The register's number is in the opcode's last three bits.
bool names_register(const Parts& parts) {
  const uint8_t opcode = parts.opcode;
  if (parts.map == Map::kTwoByte) return (opcode & 0xf8) == 0xc8;  // bswap
  return parts.map == Map::kOneByte && ((opcode & 0xf0) == 0x50 || (opcode & 0xf8) == 0x90 || (opcode & 0xf0) == 0xb0);
}

// Conservative: in some instructions a register field with the stack pointer's number selects another operation.
bool may_copy_stack_pointer(const Parts& parts) {
  constexpr uint8_t kEnter = 0xc8;
  constexpr uint8_t kLeave = 0xc9;
  constexpr uint8_t kLoadAddress = 0x8d;
  if (parts.map == Map::kVector) return true;
  if (moves_stack_pointer(parts)) return false;
  const bool is_one_byte = parts.map == Map::kOneByte;
  if (is_one_byte && (parts.opcode == kEnter || parts.opcode == kLeave)) return true;
  if (names_register(parts) && (parts.opcode & 7) == kSp && (parts.rex & 1) == 0) return true;
  if (!parts.has_modrm) return false;
  if (parts.reg == kSp || (parts.mod == 3 && parts.rm == kSp)) return true;
  if (!is_based_on_stack_pointer(parts)) return false;
  return parts.memory.index != kNoRegister || (is_one_byte && parts.opcode == kLoadAddress);
}

bool leads_out(const Instruction& instruction, uint64_t end) {
  if (instruction.flow == Flow::kIndirectJump) return true;
  return (instruction.flow == Flow::kJump || instruction.flow == Flow::kBranch) && instruction.target >= end;
}

}  // namespace

bool may_use_red_zone(Mode mode, std::span<const uint8_t> function, uint64_t at) {
  bool begins_here = false;
  bool calls = false;
  bool is_plain = true;
  for (size_t offset = 0; offset < function.size();) {
    Parts parts;
    if (!take_apart(mode, function.subspan(offset), parts)) return true;
    const Instruction instruction = flow_of(parts, offset);
    if (instruction.flow == Flow::kUnknown || reaches_below(parts)) return true;
    begins_here = begins_here || offset == at;
    calls = calls || instruction.flow == Flow::kCall;
    is_plain = is_plain && !may_copy_stack_pointer(parts) && !leads_out(instruction, function.size());
    offset += parts.length_bytes;
  }
  return !begins_here || !(calls || is_plain);
}

}  // namespace heaptap::arch::x86
