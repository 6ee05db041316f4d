// Source: Arm Architecture Reference Manual for A-profile, C4.1 (encoding), C6.2 (what each instruction does), J1 (shared pseudocode:
// AddWithCarry, DecodeBitMasks, ConditionHolds).
#include "common/arch/aarch64/emulate.h"

#include "common/arch/aarch64/flow.h"
#include "common/arch/aarch64/register_image.h"
#include "common/arch/aarch64/registers.h"

namespace heaptap::arch::aarch64 {
namespace {

constexpr unsigned kNoRegister = 31;  // as an operand: zero, or the stack pointer
constexpr uint64_t kFlags = uint64_t{0xf} << 28;
constexpr uint64_t kBranchType = uint64_t{3}
                                 << 10;  // how an instruction was branched to, which the next one may check (BTI)

constexpr uint64_t ones(unsigned count) { return count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1; }

constexpr uint64_t sign_extended(uint64_t value, unsigned bits) {
  const unsigned shift = 64 - bits;
  return static_cast<uint64_t>(static_cast<int64_t>(value << shift) >> shift);
}

class Emulation {
 public:
  Emulation(uint32_t instruction, uint64_t address, RegisterImage& registers, TargetMemory& memory)
      : word_(instruction), address_(address), registers_(registers), memory_(memory), next_(address + 4) {}

  bool run() {
    if (!execute()) return false;
    const uint64_t state = word(registers_, kProcessorState) & ~kBranchType;
    set_word(registers_, kProcessorState, state);
    set_word(registers_, kProgramCounter, next_);
    return true;
  }

 private:
  bool execute() {
    switch (field(25, 4)) {
      case 0x8:
      case 0x9:
        return immediate();
      case 0xa:
      case 0xb:
        return branch();
      case 0x4:
      case 0xc:
        return memory_access();  // of general registers; those of vectors have another bit there
      case 0x5:
      case 0xd:
        return of_registers();
      default:
        return false;
    }
  }

  // ---- Parts of the instruction

  [[nodiscard]] uint32_t field(unsigned shift, unsigned bits) const { return word_ >> shift & ((1u << bits) - 1); }
  [[nodiscard]] bool bit(unsigned at) const { return field(at, 1) != 0; }
  [[nodiscard]] bool is(uint32_t mask, uint32_t value) const { return (word_ & mask) == value; }
  [[nodiscard]] uint64_t offset(unsigned shift, unsigned bits, unsigned scale = 0) const {
    return static_cast<uint64_t>(signed_field(word_, shift, bits)) << scale;
  }
  [[nodiscard]] bool is_wide() const { return bit(31); }
  [[nodiscard]] unsigned width() const { return is_wide() ? 64 : 32; }
  [[nodiscard]] unsigned destination() const { return field(0, 5); }
  [[nodiscard]] unsigned first() const { return field(5, 5); }
  [[nodiscard]] unsigned second() const { return field(16, 5); }

  // ---- Registers

  [[nodiscard]] uint64_t value(unsigned index) const { return index == kNoRegister ? 0 : word(registers_, index); }
  [[nodiscard]] uint64_t value_or_stack(unsigned index) const { return word(registers_, index); }
  void set(unsigned index, uint64_t value) {
    if (index != kNoRegister) set_word(registers_, index, value);
  }
  [[nodiscard]] uint64_t cut(uint64_t value) const { return value & ones(width()); }
  // A 32-bit result clears the upper half.
  bool set_result(uint64_t value) {
    set(destination(), cut(value));
    return true;
  }
  bool set_result_or_stack(uint64_t value) {
    set_word(registers_, destination(), cut(value));
    return true;
  }
  void set_flags(uint64_t flags) {
    set_word(registers_, kProcessorState, (word(registers_, kProcessorState) & ~kFlags) | flags << 28);
  }
  void set_flags_of_logical(uint64_t result) {
    const bool is_negative = (result >> (width() - 1) & 1) != 0;
    set_flags((is_negative ? 8 : 0) | (cut(result) == 0 ? 4 : 0));
  }

  uint64_t add_with_carry(uint64_t a, uint64_t b, bool carry, bool sets_flags) {
    const uint64_t result = cut(a + b + (carry ? 1 : 0));
    if (sets_flags) {
      const uint64_t top = uint64_t{1} << (width() - 1);
      const bool carries = carry ? result <= cut(a) : result < cut(a);
      const bool overflows = ((a ^ result) & (b ^ result) & top) != 0;
      set_flags(((result & top) != 0 ? 8u : 0u) | (result == 0 ? 4u : 0u) | (carries ? 2u : 0u) |
                (overflows ? 1u : 0u));
    }
    return result;
  }
  // ADD, ADDS, SUB, SUBS of any operands.
  uint64_t added(uint64_t a, uint64_t b) {
    return bit(30) ? add_with_carry(cut(a), cut(~b), true, bit(29)) : add_with_carry(cut(a), cut(b), false, bit(29));
  }

  [[nodiscard]] bool holds(unsigned condition) const {
    const uint64_t flags = word(registers_, kProcessorState) >> 28;
    const bool n = (flags & 8) != 0;
    const bool z = (flags & 4) != 0;
    const bool c = (flags & 2) != 0;
    const bool v = (flags & 1) != 0;
    const bool tested[] = {z, c, n, v, c && !z, n == v, n == v && !z, true};
    const bool result = tested[condition >> 1];
    return (condition & 1) != 0 && condition != 0xf ? !result : result;
  }

  // ---- Data processing

  bool immediate() {
    if (is(0x1f000000, 0x10000000)) return address_of_place();
    if (is(0x1f800000, 0x11000000)) return add_immediate();
    if (is(0x1f800000, 0x12000000)) return logical_immediate();
    if (is(0x1f800000, 0x12800000)) return move_wide();
    if (is(0x1f800000, 0x13000000)) return bit_field();
    if (is(0x7fa00000, 0x13800000)) return extract();
    return false;
  }

  bool address_of_place() {  // ADR, ADRP
    const uint64_t distance = offset(5, 19, 2) | field(29, 2);
    const bool is_page = bit(31);
    set(destination(), is_page ? (address_ & ~uint64_t{0xfff}) + (distance << 12) : address_ + distance);
    return true;
  }

  bool add_immediate() {
    const uint64_t operand = uint64_t{field(10, 12)} << (bit(22) ? 12 : 0);
    const uint64_t result = added(value_or_stack(first()), operand);
    return bit(29) ? set_result(result) : set_result_or_stack(result);
  }

  bool logical(uint64_t operand, bool is_immediate) {
    const uint64_t a = value(first());
    const unsigned kind = field(29, 2);  // AND, ORR, EOR, ANDS
    const uint64_t result = kind == 1 ? a | operand : kind == 2 ? a ^ operand : a & operand;
    if (kind == 3) set_flags_of_logical(result);
    return is_immediate && kind != 3 ? set_result_or_stack(result) : set_result(result);
  }

  bool logical_immediate() {
    const unsigned sizes = field(22, 1) << 6 | (~field(10, 6) & 0x3f);
    if (sizes < 2 || (!is_wide() && bit(22))) return false;
    const unsigned size = 1u << (31 - static_cast<unsigned>(__builtin_clz(sizes)));
    const unsigned count = field(10, 6) & (size - 1);
    const unsigned turn = field(16, 6) & (size - 1);
    if (count == size - 1) return false;
    const uint64_t run = ones(count + 1);
    uint64_t mask = (run >> turn | (turn == 0 ? 0 : run << (size - turn))) & ones(size);
    for (unsigned filled = size; filled < 64; filled *= 2) mask |= mask << filled;
    return logical(mask, true);
  }

  bool move_wide() {
    const unsigned shift = 16 * field(21, 2);
    if (shift >= width()) return false;
    const uint64_t part = uint64_t{field(5, 16)} << shift;
    switch (field(29, 2)) {
      case 0:
        return set_result(~part);  // MOVN
      case 2:
        return set_result(part);  // MOVZ
      case 3:
        return set_result((value(destination()) & ~(uint64_t{0xffff} << shift)) | part);  // MOVK
      default:
        return false;
    }
  }

  bool bit_field() {
    const unsigned turn = field(16, 6);
    const unsigned last = field(10, 6);
    const unsigned kind = field(29, 2);  // SBFM, BFM, UBFM
    if (bit(22) != is_wide() || kind == 3 || turn >= width() || last >= width()) return false;
    const bool is_extracted = last >= turn;
    const unsigned count = is_extracted ? last - turn + 1 : last + 1;
    const unsigned at = is_extracted ? 0 : width() - turn;
    const uint64_t taken = (cut(value(first())) >> (is_extracted ? turn : 0)) & ones(count);
    if (kind == 0) return set_result(sign_extended(taken, count) << at);
    const uint64_t kept = kind == 1 ? value(destination()) & ~(ones(count) << at) : 0;
    return set_result(kept | taken << at);
  }

  bool extract() {
    const unsigned at = field(10, 6);
    if (bit(22) != is_wide() || at >= width()) return false;
    const uint64_t low = cut(value(second())) >> at;
    return set_result(at == 0 ? low : low | value(first()) << (width() - at));
  }

  bool of_registers() {
    if (is(0x1f000000, 0x0a000000)) return logical_shifted();
    if (is(0x1f200000, 0x0b000000)) return add_shifted();
    if (is(0x1fe00000, 0x0b200000)) return add_extended();
    if (is(0x3fe00410, 0x3a400000)) return conditional_compare();
    if (is(0x3fe00800, 0x1a800000)) return conditional_select();
    if (is(0x1fe0fc00, 0x1a000000)) return add_carried();
    if (is(0x7fe00000, 0x1ac00000)) return of_two();
    if (is(0x7fff0000, 0x5ac00000)) return of_one();
    if (is(0x7f000000, 0x1b000000)) return multiply();
    return false;
  }

  bool add_carried() {
    const bool carry = (word(registers_, kProcessorState) >> 29 & 1) != 0;
    const uint64_t operand = bit(30) ? ~value(second()) : value(second());
    return set_result(add_with_carry(cut(value(first())), cut(operand), carry, bit(29)));
  }

  bool of_two() {
    const uint64_t a = cut(value(first()));
    const uint64_t b = cut(value(second()));
    const auto amount = static_cast<unsigned>(b % width());
    switch (field(10, 6)) {
      case 2:
        return set_result(b == 0 ? 0 : a / b);  // UDIV
      case 3:
        return set_result(divided(sign_extended(a, width()), sign_extended(b, width())));
      case 8:
      case 9:
      case 10:
      case 11:
        return set_result(shifted(a, field(10, 2), amount));  // LSLV, LSRV, ASRV, RORV
      default:
        return false;
    }
  }

  [[nodiscard]] static uint64_t divided(uint64_t a, uint64_t b) {
    if (b == 0) return 0;
    if (b == ~uint64_t{0}) return -a;  // the lowest number has no positive one
    return static_cast<uint64_t>(static_cast<int64_t>(a) / static_cast<int64_t>(b));
  }

  bool of_one() {
    const uint64_t a = cut(value(first()));
    const unsigned kind = field(10, 6);
    switch (kind) {
      case 0:
        return set_result(reversed(a, 1, width()));  // RBIT
      case 1:
      case 2:
      case 3: {
        const unsigned unit = 8u << kind;  // REV16, REV32, REV64
        if (unit > width()) return false;
        uint64_t result = 0;
        for (unsigned at = 0; at < width(); at += unit) result |= reversed(a >> at & ones(unit), 8, unit) << at;
        return set_result(result);
      }
      case 4:
        return set_result(leading_zeros(a));
      case 5:
        return set_result(leading_zeros(cut(a ^ shifted(a, 2, 1))) - 1);  // CLS
      default:
        return false;
    }
  }

  [[nodiscard]] static uint64_t reversed(uint64_t value, unsigned piece, unsigned bits) {
    uint64_t result = 0;
    for (unsigned at = 0; at < bits; at += piece) result = result << piece | (value >> at & ones(piece));
    return result;
  }

  [[nodiscard]] uint64_t leading_zeros(uint64_t value) const {
    return value == 0 ? width() : static_cast<unsigned>(__builtin_clzll(value)) - (64 - width());
  }

  bool multiply() {
    const uint64_t a = value(first());
    const uint64_t b = value(second());
    const unsigned kind = field(21, 3);
    const bool subtracts = bit(15);
    const uint64_t third = value(field(10, 5));
    if (kind != 0 && !is_wide()) return false;
    uint64_t product = a * b;  // MADD, MSUB
    if (kind == 2 || kind == 6) {
      if (subtracts) return false;
      return set_result(kind == 6 ? upper_half(a, b) : upper_half_signed(a, b));
    }
    if (kind == 1) product = sign_extended(a, 32) * sign_extended(b, 32);
    if (kind == 5) product = (a & ones(32)) * (b & ones(32));
    if (kind != 0 && kind != 1 && kind != 5) return false;
    return set_result(subtracts ? third - product : third + product);
  }

  [[nodiscard]] static uint64_t upper_half(uint64_t a, uint64_t b) {
    const uint64_t low = (a & ones(32)) * (b & ones(32));
    const uint64_t middle = (a >> 32) * (b & ones(32)) + (low >> 32);
    const uint64_t other = (a & ones(32)) * (b >> 32) + (middle & ones(32));
    return (a >> 32) * (b >> 32) + (middle >> 32) + (other >> 32);
  }
  [[nodiscard]] static uint64_t upper_half_signed(uint64_t a, uint64_t b) {
    const uint64_t from_a = (a >> 63) != 0 ? b : 0;
    const uint64_t from_b = (b >> 63) != 0 ? a : 0;
    return upper_half(a, b) - from_a - from_b;
  }

  [[nodiscard]] uint64_t shifted(uint64_t value, unsigned kind, unsigned amount) const {
    const uint64_t low = cut(value);
    switch (kind) {
      case 0:
        return low << amount;
      case 1:
        return low >> amount;
      case 2:
        return static_cast<uint64_t>(static_cast<int64_t>(sign_extended(low, width())) >> amount);
      default:
        return amount == 0 ? low : low >> amount | low << (width() - amount);
    }
  }

  bool logical_shifted() {
    const unsigned amount = field(10, 6);
    if (amount >= width()) return false;
    const uint64_t operand = shifted(value(second()), field(22, 2), amount);
    return logical(bit(21) ? ~operand : operand, false);
  }

  bool add_shifted() {
    const unsigned amount = field(10, 6);
    const unsigned kind = field(22, 2);
    if (amount >= width() || kind == 3) return false;
    return set_result(added(value(first()), shifted(value(second()), kind, amount)));
  }

  [[nodiscard]] static uint64_t extended(uint64_t value, unsigned kind) {
    const unsigned bits = 8u << (kind & 3);
    return (kind & 4) != 0 ? sign_extended(value, bits) : value & ones(bits);
  }

  bool add_extended() {
    const unsigned amount = field(10, 3);
    if (amount > 4) return false;
    const uint64_t result = added(value_or_stack(first()), extended(value(second()), field(13, 3)) << amount);
    return bit(29) ? set_result(result) : set_result_or_stack(result);
  }

  bool conditional_compare() {
    if (!holds(field(12, 4))) {
      set_flags(field(0, 4));
      return true;
    }
    const uint64_t operand = bit(11) ? field(16, 5) : value(second());
    added(value(first()), operand);
    return true;
  }

  bool conditional_select() {
    if (bit(29)) return false;
    if (holds(field(12, 4))) return set_result(value(first()));
    const uint64_t other = bit(30) ? ~value(second()) : value(second());
    return set_result(bit(10) ? other + 1 : other);  // CSEL, CSINC, CSINV, CSNEG
  }

  // ---- Branches

  bool branch() {
    const Instruction known = flow_of(word_, address_);
    switch (known.flow) {
      case Flow::kJump:
        next_ = known.target;
        return true;
      case Flow::kBranch:
        if (is_taken()) next_ = known.target;
        return true;
      case Flow::kCall:
      case Flow::kIndirectJump:
      case Flow::kReturn:
        return branch_to(known);
      default:
        return is_hint_without_effect();
    }
  }

  [[nodiscard]] bool is_taken() const {
    if (is(0xff000000, 0x54000000)) return holds(field(0, 4));
    const uint64_t tested = value(destination());
    const bool is_zero =
        is(0x7e000000, 0x34000000) ? cut(tested) == 0 : (tested >> (field(31, 1) << 5 | field(19, 5)) & 1) == 0;
    return bit(24) ? !is_zero : is_zero;
  }

  bool branch_to(const Instruction& known) {
    const bool is_indirect = is(0xfe000000, 0xd6000000);
    const bool returns_signed = is(0xfffffbff, 0xd65f0bff);  // RETAA, RETAB
    if (is_indirect && !returns_signed && !is(0xff9ffc1f, 0xd61f0000)) return false;
    const uint64_t target = !is_indirect ? known.target : value(returns_signed ? kLink : first());
    if (known.flow == Flow::kCall) set(kLink, address_ + 4);
    next_ = returns_signed ? target & Unwinding().address_mask() : target;
    return true;
  }

  // NOP, YIELD and so on; landing pads (BTI). Not those that sign and authenticate.
  [[nodiscard]] bool is_hint_without_effect() const {
    if (!is(0xfffff01f, 0xd503201f)) return false;
    const unsigned hint = field(5, 7);
    return hint <= 5 || (hint >= 32 && hint <= 38 && hint % 2 == 0);
  }

  // ---- Memory

  bool memory_access() {
    if (bit(26)) return false;
    if (is(0x3b000000, 0x18000000)) return load_literal();
    if (is(0x3a000000, 0x28000000)) return pair();
    if (is(0x3b000000, 0x39000000)) {
      const unsigned scale = field(30, 2);
      return access(base() + (uint64_t{field(10, 12)} << scale), base());
    }
    if (is(0x3b200000, 0x38000000)) return access_near();
    if (is(0x3b200c00, 0x38200800)) return access_indexed();
    return false;
  }

  [[nodiscard]] uint64_t base() const { return value_or_stack(first()); }

  // The top byte of an address is the program's.
  static uint64_t untagged(uint64_t address) { return address & ones(56); }

  bool load_literal() {
    const unsigned kind = field(30, 2);
    const uint64_t from = address_ + offset(5, 19, 2);
    uint8_t bytes[8] = {};
    if (kind == 3) return true;  // PRFM
    const size_t count = kind == 1 ? 8 : 4;
    if (!memory_.read(from, bytes, count)) return false;
    const uint64_t loaded = load(bytes, count);
    set(destination(), kind == 2 ? sign_extended(loaded, 32) : loaded);
    return true;
  }

  bool pair() {
    const unsigned kind = field(30, 2);
    const bool loads = bit(22);
    if (kind == 3 || (kind == 1 && !loads)) return false;
    const size_t count = kind == 2 ? 8 : 4;
    const unsigned mode = field(23, 2);  // without allocation, behind, offset, before
    const uint64_t moved = base() + offset(15, 7, kind == 2 ? 3 : 2);
    const uint64_t at = untagged(mode == 1 ? base() : moved);
    const unsigned other = field(10, 5);
    uint8_t bytes[16] = {};
    if (loads) {
      if (!memory_.read(at, bytes, 2 * count)) return false;
    } else {
      store(bytes, count, value(destination()));
      store(bytes + count, count, value(other));
      if (!memory_.write(at, bytes, 2 * count)) return false;
    }
    if (mode == 1 || mode == 3) set_word(registers_, first(), moved);
    if (!loads) return true;
    const uint64_t values[] = {load(bytes, count), load(bytes + count, count)};
    set(destination(), kind == 1 ? sign_extended(values[0], 32) : values[0]);
    set(other, kind == 1 ? sign_extended(values[1], 32) : values[1]);
    return true;
  }

  // At an offset of nine bits, which may move the base.
  bool access_near() {
    const unsigned mode = field(10, 2);  // unscaled, behind, unprivileged, before
    if (mode == 2) return false;
    const uint64_t moved = base() + offset(12, 9);
    return access(mode == 1 ? base() : moved, mode == 0 ? base() : moved);
  }

  bool access_indexed() {
    const unsigned kind = field(13, 3);
    if ((kind & 2) == 0) return false;
    const unsigned scale = bit(12) ? field(30, 2) : 0;
    return access(base() + (extended(value(second()), kind) << scale), base());
  }

  // One register, of any size. `base_after`: what the base's register is then.
  bool access(uint64_t address, uint64_t base_after) {
    const size_t count = size_t{1} << field(30, 2);
    const unsigned kind = field(22, 2);             // store, load, load a signed number into 64 bits, into 32
    if (kind >= 2 && count == 8) return kind == 2;  // PRFM
    if (kind == 3 && count == 4) return false;
    uint8_t bytes[8] = {};
    const uint64_t at = untagged(address);
    if (kind == 0) {
      store(bytes, count, value(destination()));
      if (!memory_.write(at, bytes, count)) return false;
    } else if (!memory_.read(at, bytes, count)) {
      return false;
    }
    if (base_after != base()) set_word(registers_, first(), base_after);
    if (kind == 0) return true;
    const uint64_t loaded = load(bytes, count);
    const uint64_t extended = kind == 1 ? loaded : sign_extended(loaded, static_cast<unsigned>(8 * count));
    set(destination(), kind == 3 ? extended & ones(32) : extended);
    return true;
  }

  uint32_t word_;
  uint64_t address_;
  RegisterImage& registers_;
  TargetMemory& memory_;
  uint64_t next_;
};

// Has all that is asked for.
class AnyMemory final : public TargetMemory {
 public:
  bool read(uint64_t /*address*/, void* /*to*/, size_t /*bytes*/) override { return true; }
  bool write(uint64_t /*address*/, const void* /*from*/, size_t /*bytes*/) override { return true; }
};

}  // namespace

bool emulate(uint32_t instruction, uint64_t address, RegisterImage& registers, TargetMemory& memory) {
  return Emulation(instruction, address, registers, memory).run();
}

bool can_emulate(uint32_t instruction) {
  RegisterImage registers;
  registers.size = kWords * kWordBytes;
  AnyMemory memory;
  return emulate(instruction, 0, registers, memory);
}

}  // namespace heaptap::arch::aarch64
