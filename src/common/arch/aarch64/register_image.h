// Registers of a thread in the kernel's image. Source: Linux arch/arm64/include/uapi/asm/ptrace.h (user_pt_regs).
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "common/arch/cpu.h"

namespace heaptap::arch::aarch64 {

// Indices of its words; x0 to x30 are 0 to 30.
inline constexpr unsigned kSystemCall = 8;  // x8
inline constexpr unsigned kFramePointer = 29;
inline constexpr unsigned kLink = 30;
inline constexpr unsigned kStackPointer = 31;
inline constexpr unsigned kProgramCounter = 32;
inline constexpr unsigned kProcessorState = 33;
inline constexpr unsigned kWords = 34;
inline constexpr uint64_t kWordBytes = 8;

inline uint64_t load(const uint8_t* bytes, size_t count) {
  uint64_t value = 0;
  for (size_t i = count; i > 0; --i) value = value << 8 | bytes[i - 1];
  return value;
}

inline void store(uint8_t* bytes, size_t count, uint64_t value) {
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<uint8_t>(value >> (8 * i));
}

inline uint64_t word(const RegisterImage& registers, unsigned index) {
  return load(registers.bytes + index * kWordBytes, kWordBytes);
}

inline void set_word(RegisterImage& registers, unsigned index, uint64_t value) {
  store(registers.bytes + index * kWordBytes, kWordBytes, value);
}

}  // namespace heaptap::arch::aarch64
