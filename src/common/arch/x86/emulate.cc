#include "common/arch/x86/emulate.h"

#include "common/arch/x86/arithmetic.h"
#include "common/arch/x86/operands.h"

namespace heaptap::arch::x86 {
namespace {

class Emulator {
 public:
  // `next`: the address after the instruction.
  Emulator(const Parts& parts, uint64_t next, MachineState& state, TargetMemory& memory)
      : parts_(parts), action_(action_of(parts)), state_(state), next_(next), operands_(parts, next, state, memory) {}

  // At most one write to memory, and nothing that may fail after it: so a failure leaves memory unchanged.
  bool run() {
    state_.program_counter = next_;
    return run_moves();
  }

 private:
  bool run_moves() {
    uint64_t value = 0;
    switch (action_.operation) {
      case Operation::kNone:
        return false;
      case Operation::kNothing:
        return true;
      case Operation::kMove:
        return load_from(value) && store_to(value);
      case Operation::kMoveSigned:
      case Operation::kWiden:
        return load_from(value) && store_to(sign_extended(value, from_bytes()));
      case Operation::kLoadAddress:
        return store_to(operands_.offset());
      case Operation::kExchange:
        return exchange();
      case Operation::kSetIf:
        return store_to(holds(action_.number, state_.flags) ? 1 : 0);
      case Operation::kMoveIf:
        // Reads memory in any case, and clears the upper half of a register in any case.
        if (!load_from(value)) return false;
        if (!holds(action_.number, state_.flags) && !operands_.load(action_.to, action_.bytes, value)) return false;
        return store_to(value);
      case Operation::kSpread:
        if (!load_from(value)) return false;
        operands_.set_register(kDx, action_.bytes, top_bit(value, action_.bytes) ? ~uint64_t{0} : 0);
        return true;
      default:
        return run_arithmetic();
    }
  }

  bool run_arithmetic() {
    uint64_t a = 0;
    uint64_t b = 0;
    const uint64_t flags = state_.flags;
    const unsigned bytes = action_.bytes;
    const auto both = [&] { return operands_.load(action_.to, bytes, a) && load_from(b); };
    const auto keep = [&](Outcome outcome) {
      state_.flags = outcome.flags;
      return store_to(outcome.value);
    };
    switch (action_.operation) {
      case Operation::kArithmetic:
        return both() && (action_.number == 7 ? set_flags(subtract(a, b, false, bytes, flags))
                                              : keep(arithmetic(action_.number, a, b, bytes, flags)));
      case Operation::kTest:
        return both() && set_flags(bitwise(a & b, bytes, flags));
      case Operation::kNot:
        return operands_.load(action_.to, bytes, a) && store_to(~a);
      case Operation::kNegate:
        return operands_.load(action_.to, bytes, a) && keep(subtract(0, a, false, bytes, flags));
      case Operation::kIncrement:
        return operands_.load(action_.to, bytes, a) && keep(keep_carry(add(a, 1, false, bytes, flags), flags));
      case Operation::kDecrement:
        return operands_.load(action_.to, bytes, a) && keep(keep_carry(subtract(a, 1, false, bytes, flags), flags));
      case Operation::kShift:
        return both() && keep(shift(action_.number, a, static_cast<unsigned>(b), bytes, flags));
      case Operation::kMultiply:
        return both() && keep(multiply(a, b, bytes, flags));
      case Operation::kMultiplyBy:
        return load_from(b) && keep(multiply(b, low_bytes(immediate(), bytes), bytes, flags));
      case Operation::kBitTest:
        return both() && test_bit(a, b);
      default:
        return run_stack();
    }
  }

  bool run_stack() {
    uint64_t value = 0;
    switch (action_.operation) {
      case Operation::kPush:
        return load_from(value) && operands_.push(value, action_.bytes);
      case Operation::kPop:
        // An address relative to SP uses the value after the pop, and a popped SP gets the value read.
        return operands_.pop(value, action_.bytes) && store_to(value);
      case Operation::kLeave:
        operands_.set_stack_pointer(state_.general[kBp]);
        if (!operands_.pop(value, action_.bytes)) return false;
        operands_.set_register(kBp, action_.bytes, value);
        return true;
      default:
        return run_flow();
    }
  }

  bool run_flow() {
    uint64_t to = 0;
    const auto distance = static_cast<uint64_t>(parts_.immediate);
    switch (action_.operation) {
      case Operation::kCall:
        return target(to) && go_to(to) && operands_.push(next_, action_.bytes);
      case Operation::kJump:
        return target(to) && go_to(to);
      case Operation::kBranch:
        return go_to(holds(action_.number, state_.flags) ? next_ + distance : next_);
      case Operation::kBranchIfZero:
        return go_to(operands_.limited(state_.general[kCx]) == 0 ? next_ + distance : next_);
      case Operation::kReturn:
        if (!operands_.pop(to, action_.bytes)) return false;
        if (parts_.opcode == 0xc2) operands_.set_stack_pointer(state_.general[kSp] + (distance & 0xffff));
        return go_to(to);
      default:
        return false;
    }
  }

  uint64_t immediate() const { return static_cast<uint64_t>(parts_.immediate); }
  unsigned from_bytes() const { return action_.from_bytes != 0 ? action_.from_bytes : action_.bytes; }
  bool load_from(uint64_t& value) { return operands_.load(action_.from, from_bytes(), value); }
  bool store_to(uint64_t value) { return operands_.store(action_.to, action_.bytes, value); }

  bool set_flags(Outcome outcome) {
    state_.flags = outcome.flags;
    return true;
  }

  bool test_bit(uint64_t value, uint64_t number) {
    const bool is_set = (value >> (number & (8 * action_.bytes - 1)) & 1) != 0;
    state_.flags = (state_.flags & ~uint64_t{kCarry}) | flag_if(is_set, kCarry);
    return true;
  }

  bool exchange() {
    uint64_t a = 0;
    uint64_t b = 0;
    return operands_.load(action_.to, action_.bytes, a) && load_from(b) && store_to(b) &&
           operands_.store(action_.from, action_.bytes, a);
  }

  // A jump to a non-canonical address faults before it jumps.
  bool go_to(uint64_t address) {
    state_.program_counter = operands_.limited(address);
    constexpr unsigned kAddressBytes = 6;
    return sign_extended(state_.program_counter, kAddressBytes) == state_.program_counter;
  }

  bool target(uint64_t& to) {
    to = next_ + immediate();
    return action_.from == Place::kNowhere || operands_.load(action_.from, action_.bytes, to);
  }

  const Parts& parts_;
  const Action action_;
  MachineState& state_;
  const uint64_t next_;
  Operands operands_;
};

}  // namespace

bool emulate(const Parts& parts, uint64_t address, MachineState& state, TargetMemory& memory) {
  const uint64_t next = low_bytes(address + parts.length_bytes, parts.mode == Mode::k64 ? 8 : 4);
  return Emulator(parts, next, state, memory).run();
}

}  // namespace heaptap::arch::x86
