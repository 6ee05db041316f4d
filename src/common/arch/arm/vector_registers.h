// Vector registers of a stopped thread: not read, since threads of this CPU aren't stopped yet.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace heaptap::arch::arm {

inline constexpr unsigned kVectorRegisterSet = 0;
inline constexpr size_t kVectorImageBytes = 1;

struct VectorWord {
  uint64_t value;
  unsigned index;  // of the register
};

template <typename Word, typename Use>
void each_vector_word(const uint8_t* /*image*/, size_t /*bytes*/, Use /*use*/) {}

}  // namespace heaptap::arch::arm
