// Results and flags of integer instructions. Operands have their upper bits clear. Source: Intel SDM volume 1, 3.4.3.1 and
// volume 2, the instructions' own pages. A flag that is undefined there is left as it was.
#pragma once
#include <stdint.h>

#include "common/arch/x86/machine_state.h"

namespace heaptap::arch::x86 {

enum Flag : uint64_t {
  kCarry = 1,
  kParity = 4,
  kAuxiliary = 0x10,
  kZero = 0x40,
  kSign = 0x80,
  kOverflow = 0x800,
};
inline constexpr uint64_t kStatusFlags = kCarry | kParity | kAuxiliary | kZero | kSign | kOverflow;

struct Outcome {
  uint64_t value;
  uint64_t flags;  // after the instruction
};

constexpr uint64_t flag_if(bool is_set, Flag flag) { return is_set ? uint64_t{flag} : 0; }

constexpr bool top_bit(uint64_t value, unsigned bytes) { return (value >> (8 * bytes - 1) & 1) != 0; }

constexpr uint64_t flags_of_value(uint64_t value, unsigned bytes) {
  const bool has_even_parity = (__builtin_popcountll(value & 0xff) & 1) == 0;
  return flag_if(value == 0, kZero) | flag_if(top_bit(value, bytes), kSign) | flag_if(has_even_parity, kParity);
}

constexpr Outcome add(uint64_t a, uint64_t b, bool carry, unsigned bytes, uint64_t flags) {
  const uint64_t value = low_bytes(a + b + (carry ? 1 : 0), bytes);
  const uint64_t carries = (a & b) | ((a | b) & ~value);  // carry out of each bit
  return {value, (flags & ~kStatusFlags) | flags_of_value(value, bytes) | flag_if(top_bit(carries, bytes), kCarry) |
                     flag_if((carries & 8) != 0, kAuxiliary) |
                     flag_if(top_bit((a ^ value) & (b ^ value), bytes), kOverflow)};
}

constexpr Outcome subtract(uint64_t a, uint64_t b, bool borrow, unsigned bytes, uint64_t flags) {
  const uint64_t value = low_bytes(a - b - (borrow ? 1 : 0), bytes);
  const uint64_t borrows = (~a & b) | ((~a | b) & value);
  return {value, (flags & ~kStatusFlags) | flags_of_value(value, bytes) | flag_if(top_bit(borrows, bytes), kCarry) |
                     flag_if((borrows & 8) != 0, kAuxiliary) |
                     flag_if(top_bit((a ^ b) & (a ^ value), bytes), kOverflow)};
}

constexpr Outcome bitwise(uint64_t value, unsigned bytes, uint64_t flags) {
  return {value, (flags & ~(kStatusFlags & ~kAuxiliary)) | flags_of_value(value, bytes)};
}

// Arithmetic group of the opcodes 00 to 3f and 80 to 83, by number: add, or, adc, sbb, and, sub, xor, cmp.
constexpr Outcome arithmetic(unsigned number, uint64_t a, uint64_t b, unsigned bytes, uint64_t flags) {
  const bool carry = (flags & kCarry) != 0;
  switch (number) {
    case 0:
      return add(a, b, false, bytes, flags);
    case 1:
      return bitwise(a | b, bytes, flags);
    case 2:
      return add(a, b, carry, bytes, flags);
    case 3:
      return subtract(a, b, carry, bytes, flags);
    case 4:
      return bitwise(a & b, bytes, flags);
    case 6:
      return bitwise(a ^ b, bytes, flags);
    default:
      return subtract(a, b, false, bytes, flags);
  }
}

// inc and dec leave the carry unchanged.
constexpr Outcome keep_carry(Outcome outcome, uint64_t flags) {
  return {outcome.value, (outcome.flags & ~uint64_t{kCarry}) | (flags & kCarry)};
}

// Shift group of c0, c1, d0 to d3, by number: 4 shl, 5 shr, 7 sar.
constexpr Outcome shift(unsigned number, uint64_t a, unsigned count, unsigned bytes, uint64_t flags) {
  count &= bytes == 8 ? 63 : 31;
  if (count == 0) return {a, flags};
  const unsigned bits = 8 * bytes;
  uint64_t value = 0;
  bool carry = false;
  bool overflow = false;  // defined for a count of 1
  if (number == 4) {
    value = low_bytes(a << count, bytes);
    carry = count <= bits && (a >> (bits - count) & 1) != 0;
    overflow = top_bit(value, bytes) != carry;
  } else {
    const uint64_t wide = number == 7 ? sign_extended(a, bytes) : a;
    const auto arithmetic_value = static_cast<uint64_t>(static_cast<int64_t>(wide) >> count);
    value = low_bytes(number == 7 ? arithmetic_value : wide >> count, bytes);
    carry = number == 7 ? (static_cast<int64_t>(wide) >> (count - 1) & 1) != 0 : (wide >> (count - 1) & 1) != 0;
    overflow = number == 5 && top_bit(a, bytes);
  }
  return {value, (flags & ~(kStatusFlags & ~kAuxiliary)) | flags_of_value(value, bytes) | flag_if(carry, kCarry) |
                     flag_if(overflow, kOverflow)};
}

// The lower half of the signed product.
constexpr Outcome multiply(uint64_t a, uint64_t b, unsigned bytes, uint64_t flags) {
  int64_t product = 0;
  bool is_cut = __builtin_mul_overflow(static_cast<int64_t>(sign_extended(a, bytes)),
                                       static_cast<int64_t>(sign_extended(b, bytes)), &product);
  const uint64_t value = low_bytes(static_cast<uint64_t>(product), bytes);
  is_cut = is_cut || sign_extended(value, bytes) != static_cast<uint64_t>(product);
  constexpr uint64_t kChanged = kCarry | kOverflow;
  return {value, (flags & ~kChanged) | (is_cut ? kChanged : 0)};
}

// Evaluates a condition by number: the lower 4 bits of jcc, setcc and cmovcc.
constexpr bool holds(unsigned condition, uint64_t flags) {
  const auto is_set = [flags](Flag flag) { return (flags & flag) != 0; };
  const bool is_less = is_set(kSign) != is_set(kOverflow);
  constexpr unsigned kNegated = 1;
  const auto of_pair = [&] {
    switch (condition >> 1 & 7) {
      case 0:
        return is_set(kOverflow);
      case 1:
        return is_set(kCarry);
      case 2:
        return is_set(kZero);
      case 3:
        return is_set(kCarry) || is_set(kZero);
      case 4:
        return is_set(kSign);
      case 5:
        return is_set(kParity);
      case 6:
        return is_less;
      default:
        return is_less || is_set(kZero);
    }
  };
  return of_pair() != ((condition & kNegated) != 0);
}

}  // namespace heaptap::arch::x86
