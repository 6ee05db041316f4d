// Copying and clearing without calls: compilers turn plain loops into calls of memcpy and memset, even in freestanding code.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace heaptap::arch::arm {

// Words may lie at any address (ARMv7-A, A3.2.1: LDR and STR of one word).
inline void copy_bytes(void* to, const void* from, size_t bytes) {
  auto* out = static_cast<uint8_t*>(to);
  const auto* in = static_cast<const uint8_t*>(from);
  for (; bytes >= sizeof(uint32_t); bytes -= sizeof(uint32_t)) {
    uint32_t word;
    asm volatile("ldr %0, [%1], #4\n\tstr %0, [%2], #4" : "=&r"(word), "+r"(in), "+r"(out) : : "memory");
  }
  for (; bytes > 0; --bytes) {
    uint32_t byte;
    asm volatile("ldrb %0, [%1], #1\n\tstrb %0, [%2], #1" : "=&r"(byte), "+r"(in), "+r"(out) : : "memory");
  }
}

inline void fill_bytes(void* to, int value, size_t bytes) {
  auto* out = static_cast<uint8_t*>(to);
  const uint32_t word = 0x01010101u * static_cast<uint8_t>(value);
  for (; bytes >= sizeof(word); bytes -= sizeof(word)) {
    asm volatile("str %1, [%0], #4" : "+r"(out) : "r"(word) : "memory");
  }
  for (; bytes > 0; --bytes) asm volatile("strb %1, [%0], #1" : "+r"(out) : "r"(word) : "memory");
}

}  // namespace heaptap::arch::arm
