// Registers used by emulated instructions, independent of the image that they come from.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "common/arch/x86/decode.h"

namespace heaptap::arch::x86 {

struct MachineState {
  uint64_t general[16] = {};  // by RegisterNumber
  uint64_t program_counter = 0;
  uint64_t flags = 0;
  uint64_t fs_base = 0;  // in 64-bit mode only
  uint64_t gs_base = 0;
};

// Of 1, 2, 4 or 8 bytes. (With a constant count, compilers turn the loop into one instruction.)
template <size_t kCount>
uint64_t load_bytes(const uint8_t* bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < kCount; ++i) value |= uint64_t{bytes[i]} << (8 * i);
  return value;
}

template <size_t kCount>
void store_bytes(uint8_t* bytes, uint64_t value) {
  for (size_t i = 0; i < kCount; ++i) bytes[i] = static_cast<uint8_t>(value >> (8 * i));
}

inline uint64_t load_little_endian(const uint8_t* bytes, size_t count) {
  if (count == 8) return load_bytes<8>(bytes);
  if (count == 4) return load_bytes<4>(bytes);
  return count == 2 ? load_bytes<2>(bytes) : load_bytes<1>(bytes);
}

inline void store_little_endian(uint8_t* bytes, size_t count, uint64_t value) {
  if (count == 8) return store_bytes<8>(bytes, value);
  if (count == 4) return store_bytes<4>(bytes, value);
  return count == 2 ? store_bytes<2>(bytes, value) : store_bytes<1>(bytes, value);
}

constexpr uint64_t low_bytes(uint64_t value, unsigned bytes) {
  return bytes >= 8 ? value : value & ((uint64_t{1} << (8 * bytes)) - 1);
}

constexpr uint64_t sign_extended(uint64_t value, unsigned bytes) {
  const unsigned unused = 64 - 8 * bytes;
  return static_cast<uint64_t>(static_cast<int64_t>(value << unused) >> unused);
}

}  // namespace heaptap::arch::x86
