// Copying and clearing without calls: compilers turn plain loops into calls of memcpy and memset, even in freestanding code.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace heaptap::arch::aarch64 {

inline void copy_bytes(void* to, const void* from, size_t bytes) {
  auto* out = static_cast<uint8_t*>(to);
  const auto* in = static_cast<const uint8_t*>(from);
  for (; bytes >= sizeof(uint64_t); bytes -= sizeof(uint64_t)) {
    uint64_t word;
    asm volatile("ldr %0, [%1], #8\n\tstr %0, [%2], #8" : "=&r"(word), "+r"(in), "+r"(out) : : "memory");
  }
  for (; bytes > 0; --bytes) {
    uint32_t byte;
    asm volatile("ldrb %w0, [%1], #1\n\tstrb %w0, [%2], #1" : "=&r"(byte), "+r"(in), "+r"(out) : : "memory");
  }
}

inline void fill_bytes(void* to, int value, size_t bytes) {
  auto* out = static_cast<uint8_t*>(to);
  const uint64_t word = 0x0101010101010101 * static_cast<uint8_t>(value);
  for (; bytes >= sizeof(word); bytes -= sizeof(word)) {
    asm volatile("str %1, [%0], #8" : "+r"(out) : "r"(word) : "memory");
  }
  for (; bytes > 0; --bytes) asm volatile("strb %w1, [%0], #1" : "+r"(out) : "r"(word) : "memory");
}

}  // namespace heaptap::arch::aarch64
