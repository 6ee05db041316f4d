#include "arch/x86/emulate.h"

#include "arch/x86/arithmetic.h"

namespace heaptap::arch::x86 {
namespace {

class Emulator {
 public:
  Emulator(const Parts& parts, MachineState& state, TargetMemory& memory)
      : parts_(parts), action_(action_of(parts)), state_(state), memory_(memory) {}

  // At most one write to memory, and nothing that may fail behind it: so a failure leaves memory as it was.
  bool run(uint64_t address) {
    next_ = limited(address + parts_.length_bytes);
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
        return store_to(offset());
      case Operation::kExchange:
        return exchange();
      case Operation::kSetIf:
        return store_to(holds(action_.number, state_.flags) ? 1 : 0);
      case Operation::kMoveIf:
        // Reads memory in any case, and clears the upper half of a register in any case.
        if (!load_from(value)) return false;
        if (!holds(action_.number, state_.flags) && !load(action_.to, action_.bytes, value)) return false;
        return store_to(value);
      case Operation::kSpread:
        if (!load_from(value)) return false;
        set_register(kDx, action_.bytes, top_bit(value, action_.bytes) ? ~uint64_t{0} : 0);
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
    const auto both = [&] { return load(action_.to, bytes, a) && load_from(b); };
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
        return load(action_.to, bytes, a) && store_to(~a);
      case Operation::kNegate:
        return load(action_.to, bytes, a) && keep(subtract(0, a, false, bytes, flags));
      case Operation::kIncrement:
        return load(action_.to, bytes, a) && keep(keep_carry(add(a, 1, false, bytes, flags), flags));
      case Operation::kDecrement:
        return load(action_.to, bytes, a) && keep(keep_carry(subtract(a, 1, false, bytes, flags), flags));
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
        return load_from(value) && push(value, action_.bytes);
      case Operation::kPop:
        // An address by SP is that behind the pop, and so is a popped SP's last value.
        return pop(value, action_.bytes) && store_to(value);
      case Operation::kLeave:
        set_stack_pointer(state_.general[kBp]);
        if (!pop(value, action_.bytes)) return false;
        set_register(kBp, action_.bytes, value);
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
        return target(to) && go_to(to) && push(next_, action_.bytes);
      case Operation::kJump:
        return target(to) && go_to(to);
      case Operation::kBranch:
        return go_to(holds(action_.number, state_.flags) ? next_ + distance : next_);
      case Operation::kBranchIfZero:
        return go_to(limited(state_.general[kCx]) == 0 ? next_ + distance : next_);
      case Operation::kReturn:
        if (!pop(to, action_.bytes)) return false;
        if (parts_.opcode == 0xc2) set_stack_pointer(state_.general[kSp] + (distance & 0xffff));
        return go_to(to);
      default:
        return false;
    }
  }

  bool is_64() const { return parts_.mode == Mode::k64; }
  uint64_t limited(uint64_t address) const { return low_bytes(address, is_64() ? 8 : 4); }
  uint64_t immediate() const { return static_cast<uint64_t>(parts_.immediate); }
  unsigned from_bytes() const { return action_.from_bytes != 0 ? action_.from_bytes : action_.bytes; }
  bool load_from(uint64_t& value) { return load(action_.from, from_bytes(), value); }
  bool store_to(uint64_t value) { return store(action_.to, action_.bytes, value); }

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
    return load(action_.to, action_.bytes, a) && load_from(b) && store_to(b) && store(action_.from, action_.bytes, a);
  }

  // A jump to where no code can be faults before it jumps.
  bool go_to(uint64_t address) {
    state_.program_counter = limited(address);
    constexpr unsigned kAddressBytes = 6;
    return sign_extended(state_.program_counter, kAddressBytes) == state_.program_counter;
  }

  bool target(uint64_t& to) {
    to = next_ + immediate();
    return action_.from == Place::kNowhere || load(action_.from, action_.bytes, to);
  }

  void set_stack_pointer(uint64_t value) { state_.general[kSp] = limited(value); }

  bool push(uint64_t value, unsigned bytes) {
    set_stack_pointer(state_.general[kSp] - bytes);
    return write(state_.general[kSp], bytes, value);
  }

  bool pop(uint64_t& value, unsigned bytes) {
    if (!read(state_.general[kSp], bytes, value)) return false;
    set_stack_pointer(state_.general[kSp] + bytes);
    return true;
  }

  // Registers 4 to 7 of a byte operand without REX are ah, ch, dh, bh.
  bool is_high_byte(uint8_t number, unsigned bytes) const { return bytes == 1 && parts_.rex == 0 && number >= 4; }

  uint64_t register_value(uint8_t number, unsigned bytes) const {
    if (is_high_byte(number, bytes)) return state_.general[number - 4] >> 8 & 0xff;
    return low_bytes(state_.general[number], bytes);
  }

  void set_register(uint8_t number, unsigned bytes, uint64_t value) {
    if (is_high_byte(number, bytes)) {
      uint64_t& whole = state_.general[number - 4];
      whole = (whole & ~uint64_t{0xff00}) | (value & 0xff) << 8;
      return;
    }
    uint64_t& whole = state_.general[number];
    // A 32-bit result clears the upper half; smaller ones leave the rest alone.
    whole = bytes >= 4 ? low_bytes(value, bytes) : (whole & ~low_bytes(~uint64_t{0}, bytes)) | low_bytes(value, bytes);
  }

  uint8_t register_of(Place place) const {
    switch (place) {
      case Place::kModrm:
        return parts_.rm;
      case Place::kReg:
        return parts_.reg;
      case Place::kOpcodeRegister:
        return static_cast<uint8_t>((parts_.opcode & 7) | (parts_.rex & 1) << 3);
      case Place::kCount:
        return kCx;
      default:
        return kAx;
    }
  }

  bool load(Place place, unsigned bytes, uint64_t& value) {
    if (place == Place::kModrm && parts_.has_memory) {
      uint64_t address = 0;
      return address_of(bytes, address) && read(address, bytes, value);
    }
    if (place == Place::kImmediate) {
      value = low_bytes(immediate(), bytes);
    } else if (place == Place::kOne) {
      value = 1;
    } else {
      value = register_value(register_of(place), bytes);
    }
    return true;
  }

  bool store(Place place, unsigned bytes, uint64_t value) {
    if (place == Place::kModrm && parts_.has_memory) {
      uint64_t address = 0;
      return address_of(bytes, address) && write(address, bytes, value);
    }
    set_register(register_of(place), bytes, value);
    return true;
  }

  uint64_t part_of_address(uint8_t number) const {
    if (number == kNoRegister) return 0;
    return number == kProgramCounter ? next_ : state_.general[number];
  }

  // Without the segment's base.
  uint64_t offset() const {
    const MemoryOperand& memory = parts_.memory;
    const uint64_t sum = part_of_address(memory.base) + (part_of_address(memory.index) << memory.scale_shift) +
                         static_cast<uint64_t>(memory.displacement);
    return low_bytes(sum, memory.width_bytes);
  }

  bool address_of(unsigned bytes, uint64_t& address) const {
    const Segment segment = parts_.memory.segment;
    address = offset();
    if (segment != Segment::kFlat) address += segment == Segment::kFs ? state_.fs_base : state_.gs_base;
    address = limited(address);
    return is_64() || address + bytes <= uint64_t{1} << 32;
  }

  bool read(uint64_t address, unsigned bytes, uint64_t& value) {
    uint8_t raw[8];
    if (!memory_.read(address, raw, bytes)) return false;
    value = load_little_endian(raw, bytes);
    return true;
  }

  bool write(uint64_t address, unsigned bytes, uint64_t value) {
    uint8_t raw[8];
    store_little_endian(raw, bytes, value);
    return memory_.write(address, raw, bytes);
  }

  const Parts& parts_;
  const Action action_;
  MachineState& state_;
  TargetMemory& memory_;
  uint64_t next_ = 0;
};

}  // namespace

bool emulate(const Parts& parts, uint64_t address, MachineState& state, TargetMemory& memory) {
  return Emulator(parts, state, memory).run(address);
}

}  // namespace heaptap::arch::x86
