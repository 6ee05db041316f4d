#include "common/arch/x86/action.h"

namespace heaptap::arch::x86 {
namespace {

class Classifier {
 public:
  explicit Classifier(const Parts& parts) : parts_(parts), opcode_(parts.opcode) {}

  Action run() const {
    if (parts_.has_lock || parts_.map == Map::kVector || parts_.map == Map::kThreeByte) return {};
    if (parts_.has_memory && !has_known_address()) return {};
    const Action action = parts_.map == Map::kOneByte ? one_byte() : two_byte();
    const bool is_repeated = parts_.has_repeat || parts_.has_repeat_not_equal;
    return is_repeated && !ignores_repetition(action) ? Action{} : action;
  }

 private:
  // In 32-bit mode the segments' bases are not among the registers.
  bool has_known_address() const {
    return parts_.memory.width_bytes > 2 && (is_64() || parts_.memory.segment == Segment::kFlat);
  }

  // `rep ret`, `bnd jmp` and the like; pause. With other opcodes the prefix selects another instruction.
  bool ignores_repetition(const Action& action) const {
    switch (action.operation) {
      case Operation::kCall:
      case Operation::kJump:
      case Operation::kBranch:
      case Operation::kReturn:
        return true;
      case Operation::kNothing:
        return parts_.map == Map::kOneByte || is_end_branch();
      default:
        return false;
    }
  }

  bool is_end_branch() const {
    return parts_.opcode == 0x1e && parts_.has_repeat && parts_.mod == 3 && parts_.reg == 7 &&
           (parts_.rm == 2 || parts_.rm == 3);
  }

  bool is_64() const { return parts_.mode == Mode::k64; }
  // In most opcodes the lowest bit distinguishes byte operands from larger ones.
  uint8_t bytes() const { return (opcode_ & 1) == 0 ? uint8_t{1} : word(); }
  uint8_t word() const { return parts_.has_rex_w() ? 8 : parts_.has_operand_size ? 2 : 4; }
  bool is_narrow() const { return parts_.has_operand_size && !parts_.has_rex_w(); }
  uint8_t stack_word() const { return is_narrow() ? 2 : is_64() ? 8 : 4; }

  Action one_byte() const {
    if (opcode_ < 0x40) return numbered_arithmetic();
    switch (opcode_ & 0xf8) {
      case 0x40:
        return {Operation::kIncrement, Place::kOpcodeRegister, {}, word()};
      case 0x48:
        return {Operation::kDecrement, Place::kOpcodeRegister, {}, word()};
      case 0x50:
        return {Operation::kPush, {}, Place::kOpcodeRegister, stack_word()};
      case 0x58:
        return {Operation::kPop, Place::kOpcodeRegister, {}, stack_word()};
      case 0x70:
      case 0x78:
        return branch();
      case 0x90:
        if (opcode_ == 0x90 && (parts_.rex & 1) == 0) return {Operation::kNothing};
        return {Operation::kExchange, Place::kOpcodeRegister, Place::kAccumulator, word()};
      case 0xb0:
        return {Operation::kMove, Place::kOpcodeRegister, Place::kImmediate, 1};
      case 0xb8:
        return {Operation::kMove, Place::kOpcodeRegister, Place::kImmediate, word()};
      default:
        return other_one_byte();
    }
  }

  Action numbered_arithmetic() const {
    const auto number = static_cast<uint8_t>(opcode_ >> 3);
    switch (opcode_ & 7) {
      case 0:
      case 1:
        return {Operation::kArithmetic, Place::kModrm, Place::kReg, bytes(), 0, number};
      case 2:
      case 3:
        return {Operation::kArithmetic, Place::kReg, Place::kModrm, bytes(), 0, number};
      case 4:
      case 5:
        return {Operation::kArithmetic, Place::kAccumulator, Place::kImmediate, bytes(), 0, number};
      default:
        return {};
    }
  }

  Action branch() const {
    if (is_narrow()) return {};
    return {.operation = Operation::kBranch, .number = static_cast<uint8_t>(opcode_ & 15)};
  }

  Action jump(Operation operation, Place from = Place::kNowhere) const {
    if (is_narrow()) return {};
    return {.operation = operation, .from = from, .bytes = static_cast<uint8_t>(is_64() ? 8 : 4)};
  }

  Action other_one_byte() const {
    const uint8_t group = parts_.modrm_group();
    switch (opcode_) {
      case 0x63:
        if (!is_64()) return {};
        return {Operation::kMoveSigned, Place::kReg, Place::kModrm, word(), word() == 2 ? uint8_t{2} : uint8_t{4}};
      case 0x68:
      case 0x6a:
        return {Operation::kPush, {}, Place::kImmediate, stack_word()};
      case 0x69:
      case 0x6b:
        return {Operation::kMultiplyBy, Place::kReg, Place::kModrm, word()};
      case 0x80:
      case 0x81:
      case 0x82:
      case 0x83:
        return {Operation::kArithmetic, Place::kModrm, Place::kImmediate, bytes(), 0, group};
      case 0x84:
      case 0x85:
        return {Operation::kTest, Place::kModrm, Place::kReg, bytes()};
      case 0x86:
      case 0x87:  // With memory it is atomic.
        if (parts_.has_memory) return {};
        return {Operation::kExchange, Place::kModrm, Place::kReg, bytes()};
      case 0x88:
      case 0x89:
        return {Operation::kMove, Place::kModrm, Place::kReg, bytes()};
      case 0x8a:
      case 0x8b:
        return {Operation::kMove, Place::kReg, Place::kModrm, bytes()};
      case 0x8d:
        if (!parts_.has_memory) return {};
        return {Operation::kLoadAddress, Place::kReg, {}, word()};
      case 0x8f:
        if (group != 0) return {};
        return {Operation::kPop, Place::kModrm, {}, stack_word()};
      case 0x98:
        return {Operation::kWiden, Place::kAccumulator, Place::kAccumulator, word(), static_cast<uint8_t>(word() / 2)};
      case 0x99:
        return {Operation::kSpread, {}, Place::kAccumulator, word()};
      default:
        return last_one_byte();
    }
  }

  Action last_one_byte() const {
    const uint8_t group = parts_.modrm_group();
    switch (opcode_) {
      case 0xa0:
      case 0xa1:
        return {Operation::kMove, Place::kAccumulator, Place::kModrm, bytes()};
      case 0xa2:
      case 0xa3:
        return {Operation::kMove, Place::kModrm, Place::kAccumulator, bytes()};
      case 0xa8:
      case 0xa9:
        return {Operation::kTest, Place::kAccumulator, Place::kImmediate, bytes()};
      case 0xc0:
      case 0xc1:
        return shift(Place::kImmediate);
      case 0xd0:
      case 0xd1:
        return shift(Place::kOne);
      case 0xd2:
      case 0xd3:
        return shift(Place::kCount);
      case 0xc2:
      case 0xc3:
        return jump(Operation::kReturn);
      case 0xc6:
      case 0xc7:
        if (group != 0) return {};
        return {Operation::kMove, Place::kModrm, Place::kImmediate, bytes()};
      case 0xc9:
        if (is_narrow()) return {};
        return {.operation = Operation::kLeave, .bytes = stack_word()};
      case 0xe3:
        if (parts_.has_operand_size || parts_.has_address_size) return {};
        return {.operation = Operation::kBranchIfZero};
      case 0xe8:
        return jump(Operation::kCall);
      case 0xe9:
      case 0xeb:
        return jump(Operation::kJump);
      case 0xf6:
      case 0xf7:
        return unary();
      case 0xfe:
      case 0xff:
        return last_group();
      default:
        return {};
    }
  }

  Action shift(Place count) const {
    const uint8_t number = parts_.modrm_group();
    if (number != 4 && number != 5 && number != 7) return {};
    return {Operation::kShift, Place::kModrm, count, bytes(), 1, number};
  }

  Action unary() const {
    switch (parts_.modrm_group()) {
      case 0:
      case 1:
        return {Operation::kTest, Place::kModrm, Place::kImmediate, bytes()};
      case 2:
        return {Operation::kNot, Place::kModrm, {}, bytes()};
      case 3:
        return {Operation::kNegate, Place::kModrm, {}, bytes()};
      default:
        return {};
    }
  }

  Action last_group() const {
    const uint8_t group = parts_.modrm_group();
    if (group == 0) return {Operation::kIncrement, Place::kModrm, {}, bytes()};
    if (group == 1) return {Operation::kDecrement, Place::kModrm, {}, bytes()};
    if (opcode_ == 0xfe) return {};
    if (group == 2) return jump(Operation::kCall, Place::kModrm);
    if (group == 4) return jump(Operation::kJump, Place::kModrm);
    if (group == 6) return {Operation::kPush, {}, Place::kModrm, stack_word()};
    return {};
  }

  Action two_byte() const {
    switch (opcode_ & 0xf0) {
      case 0x40:
        return {Operation::kMoveIf, Place::kReg, Place::kModrm, word(), 0, static_cast<uint8_t>(opcode_ & 15)};
      case 0x80:
        return branch();
      case 0x90:
        return {Operation::kSetIf, Place::kModrm, {}, 1, 0, static_cast<uint8_t>(opcode_ & 15)};
      default:
        return other_two_byte();
    }
  }

  Action other_two_byte() const {
    switch (opcode_) {
      case 0x1e:
        return is_end_branch() ? Action{Operation::kNothing} : Action{};
      case 0x1f:
        return {Operation::kNothing};
      case 0xa3:
        if (parts_.has_memory) return {};  // reaches beyond the operand
        return {Operation::kBitTest, Place::kModrm, Place::kReg, word()};
      case 0xba:
        if (parts_.modrm_group() != 4) return {};
        return {Operation::kBitTest, Place::kModrm, Place::kImmediate, word()};
      case 0xaf:
        return {Operation::kMultiply, Place::kReg, Place::kModrm, word()};
      case 0xb6:
      case 0xb7:
        return {Operation::kMove, Place::kReg, Place::kModrm, word(), (opcode_ & 1) == 0 ? uint8_t{1} : uint8_t{2}};
      case 0xbe:
      case 0xbf:
        return {Operation::kMoveSigned, Place::kReg, Place::kModrm, word(),
                (opcode_ & 1) == 0 ? uint8_t{1} : uint8_t{2}};
      default:
        return {};
    }
  }

  const Parts& parts_;
  const uint8_t opcode_;
};

}  // namespace

Action action_of(const Parts& parts) { return Classifier(parts).run(); }

}  // namespace heaptap::arch::x86
