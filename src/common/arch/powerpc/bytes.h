// Copying and clearing without calls: compilers turn plain loops into calls of memcpy and memset, even in freestanding code.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace heaptap::arch::powerpc {

// Words may lie at any address (Power ISA 2.07, Book II, 1.4): where a CPU refuses one, the kernel makes the access.
inline void copy_bytes(void* to, const void* from, size_t bytes) {
  auto* out = static_cast<uint8_t*>(to);
  const auto* in = static_cast<const uint8_t*>(from);
  for (; bytes >= sizeof(uint32_t); bytes -= sizeof(uint32_t), in += sizeof(uint32_t), out += sizeof(uint32_t)) {
    uint32_t word;
    asm volatile("lwz %0, 0(%1)\n\tstw %0, 0(%2)" : "=&r"(word) : "b"(in), "b"(out) : "memory");
  }
  for (; bytes > 0; --bytes, ++in, ++out) {
    uint32_t byte;
    asm volatile("lbz %0, 0(%1)\n\tstb %0, 0(%2)" : "=&r"(byte) : "b"(in), "b"(out) : "memory");
  }
}

inline void fill_bytes(void* to, int value, size_t bytes) {
  auto* out = static_cast<uint8_t*>(to);
  const uint32_t word = 0x01010101u * static_cast<uint8_t>(value);
  for (; bytes >= sizeof(word); bytes -= sizeof(word), out += sizeof(word)) {
    asm volatile("stw %1, 0(%0)" : : "b"(out), "r"(word) : "memory");
  }
  for (; bytes > 0; --bytes, ++out) asm volatile("stb %1, 0(%0)" : : "b"(out), "r"(word) : "memory");
}

}  // namespace heaptap::arch::powerpc
