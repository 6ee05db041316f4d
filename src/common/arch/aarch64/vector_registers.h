// Vector registers as PTRACE_GETREGSET(NT_PRFPREG) gives them: positions of their words. Source: Linux
// arch/arm64/include/uapi/asm/ptrace.h (user_fpsimd_state).
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace heaptap::arch::aarch64 {

inline constexpr unsigned kVectorRegisterSet = 2;  // NT_PRFPREG
inline constexpr size_t kVectorImageBytes = 32 * 16 + 16;

struct VectorWord {
  uint64_t value;
  unsigned index;  // of the register
};

// Calls use(VectorWord) for each word of each vector register in `image`. What the scalable registers have above 128 bits isn't in it.
template <typename Word, typename Use>
void each_vector_word(const uint8_t* image, size_t bytes, Use use) {
  constexpr size_t kRegisterBytes = 16;
  for (unsigned i = 0; i < 32 && (i + 1) * kRegisterBytes <= bytes; ++i) {
    for (size_t at = 0; at < kRegisterBytes; at += sizeof(Word)) {
      Word value;
      __builtin_memcpy(&value, image + i * kRegisterBytes + at, sizeof(Word));
      use(VectorWord{value, i});
    }
  }
}

}  // namespace heaptap::arch::aarch64
