// The registers that emulated instructions use, whatever image they come from.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "arch/x86/decode.h"

namespace heaptap::arch::x86 {

struct MachineState {
  uint64_t general[16] = {};  // by RegisterNumber
  uint64_t program_counter = 0;
  uint64_t flags = 0;
  uint64_t fs_base = 0;  // in 64-bit mode only
  uint64_t gs_base = 0;
};

inline uint64_t load_little_endian(const uint8_t* bytes, size_t count) {
  uint64_t value = 0;
  for (size_t i = 0; i < count; ++i) value |= uint64_t{bytes[i]} << (8 * i);
  return value;
}

inline void store_little_endian(uint8_t* bytes, size_t count, uint64_t value) {
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<uint8_t>(value >> (8 * i));
}

constexpr uint64_t low_bytes(uint64_t value, unsigned bytes) {
  return bytes >= 8 ? value : value & ((uint64_t{1} << (8 * bytes)) - 1);
}

constexpr uint64_t sign_extended(uint64_t value, unsigned bytes) {
  const unsigned unused = 64 - 8 * bytes;
  return static_cast<uint64_t>(static_cast<int64_t>(value << unused) >> unused);
}

}  // namespace heaptap::arch::x86
