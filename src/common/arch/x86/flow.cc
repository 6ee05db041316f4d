#include "common/arch/x86/decode.h"

namespace heaptap::arch::x86 {
namespace {

Flow one_byte_flow(const Parts& parts) {
  const uint8_t opcode = parts.opcode;
  const uint8_t group = parts.modrm_group();
  if ((opcode & 0xf0) == 0x70 || (opcode & 0xfc) == 0xe0) return Flow::kBranch;
  switch (opcode) {
    case 0xc2:
    case 0xc3:
    case 0xca:
    case 0xcb:
    case 0xcf:
      return Flow::kReturn;
    case 0xe8:
    case 0x9a:
      return Flow::kCall;
    case 0xe9:
    case 0xeb:
      return Flow::kJump;
    case 0xea:
      return Flow::kIndirectJump;
    case 0xf4:
      return Flow::kStop;
    case 0xc7:
      return parts.mod == 3 && parts.reg == 7 && parts.rm == 0 ? Flow::kBranch : Flow::kNext;  // xbegin
    case 0xfe:
      return group > 1 ? Flow::kUnknown : Flow::kNext;
    case 0xff:
      break;
    default:
      return Flow::kNext;
  }
  constexpr Flow kGroup[] = {Flow::kNext,         Flow::kNext,         Flow::kCall, Flow::kCall,
                             Flow::kIndirectJump, Flow::kIndirectJump, Flow::kNext, Flow::kUnknown};
  return kGroup[group];
}

Flow flow_kind(const Parts& parts) {
  if (parts.map == Map::kOneByte) return one_byte_flow(parts);
  if (parts.map != Map::kTwoByte) return Flow::kNext;
  switch (parts.opcode) {
    case 0x0b:  // ud2
    case 0xb9:  // ud1
    case 0xff:  // ud0
      return Flow::kStop;
    case 0x07:  // sysret
    case 0x35:  // sysexit
      return Flow::kReturn;
    default:
      return (parts.opcode & 0xf0) == 0x80 ? Flow::kBranch : Flow::kNext;
  }
}

// The displacement is in the instruction: not for calls through memory or a register, and far calls.
bool is_direct(const Parts& parts, Flow flow) {
  if (flow == Flow::kCall) return parts.opcode == 0xe8;
  return flow == Flow::kJump || flow == Flow::kBranch;
}

}  // namespace

Instruction flow_of(const Parts& parts, uint64_t address) {
  Instruction instruction{.length_bytes = parts.length_bytes, .flow = flow_kind(parts)};
  if (instruction.flow == Flow::kUnknown) return Instruction{};
  if (!is_direct(parts, instruction.flow)) return instruction;
  // The target has the operand's size; no program has such code.
  if (parts.has_operand_size && !parts.has_rex_w()) return Instruction{};
  instruction.target = address + parts.length_bytes + static_cast<uint64_t>(parts.immediate);
  if (parts.mode == Mode::k32) instruction.target &= 0xffffffff;
  return instruction;
}

}  // namespace heaptap::arch::x86
