// Vector registers in the XSAVE image that PTRACE_GETREGSET(NT_X86_XSTATE) gives: positions of their words. Sources:
// Intel SDM volume 1, 13.4 (layout), volume 2, CPUID leaf 0DH (offsets).
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace heaptap::arch::x86_64 {

inline constexpr unsigned kVectorRegisterSet = 0x202;  // NT_X86_XSTATE
inline constexpr size_t kVectorImageBytes = 16384;     // more than any CPU's

struct VectorWord {
  uint64_t value;
  unsigned index;  // of the register
};

// Part of the image. No bytes: this CPU doesn't have it.
struct VectorComponent {
  uint32_t bytes;
  uint32_t offset;
  uint32_t flags;
};
inline constexpr uint32_t kNeedsPermission =
    4;  // of a component: a process has it once it has asked for it, a thread when it uses it

inline VectorComponent vector_component(uint32_t component) {
  VectorComponent found{.bytes = 0xd, .offset = 0, .flags = component};
  uint32_t other = 0;
  asm volatile("cpuid" : "+a"(found.bytes), "=b"(found.offset), "+c"(found.flags), "=d"(other));
  return found;
}

// Offset of a component in the image. 0: this CPU doesn't have it.
inline uint32_t vector_component_offset(uint32_t component) {
  const VectorComponent found = vector_component(component);
  return found.bytes == 0 ? 0 : found.offset;
}

// Calls use(VectorWord) for each word of each vector register in `image`. Must run on the CPU that made the image. The
// image of a 32-bit thread is the same.
template <typename Word, typename Use>
void each_vector_word(const uint8_t* image, size_t bytes, Use use) {
  // A component of `count` registers, `size` bytes of each, the first with this number.
  const auto part = [&](size_t offset, unsigned count, size_t size, unsigned first) {
    if (offset == 0 || offset + count * size > bytes) return;
    for (unsigned i = 0; i < count; ++i) {
      for (size_t at = 0; at < size; at += sizeof(Word)) {
        Word value;
        __builtin_memcpy(&value, image + offset + i * size + at, sizeof(Word));
        use(VectorWord{value, first + i});
      }
    }
  };
  constexpr size_t kHeader = 512;  // XSTATE_BV: which components are present
  part(160, 16, 16, 0);
  if (bytes < kHeader + 64) return;
  uint64_t present;
  __builtin_memcpy(&present, image + kHeader, 8);
  if ((present & 1u << 2) != 0) part(vector_component_offset(2), 16, 16, 0);   // upper halves of ymm
  if ((present & 1u << 6) != 0) part(vector_component_offset(6), 16, 32, 0);   // upper halves of zmm0-15
  if ((present & 1u << 7) != 0) part(vector_component_offset(7), 16, 64, 16);  // zmm16-31
}

}  // namespace heaptap::arch::x86_64
