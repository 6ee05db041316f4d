// Stand-ins of a CPU whose vector registers are neither read, of a stopped thread, nor used, by a leak scan.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace heaptap::arch {

// Vector registers of a stopped thread: none.
namespace without_vectors {

inline constexpr unsigned kVectorRegisterSet = 0;
inline constexpr size_t kVectorImageBytes = 1;

struct VectorWord {
  uint64_t value;
  unsigned index;  // of the register
};

template <typename Word, typename Use>
void each_vector_word(const uint8_t* /*image*/, size_t /*bytes*/, Use /*use*/) {}

}  // namespace without_vectors

// Vectorized inner loop of a leak scan: none, the scalar one serves.
namespace without_filter {

template <typename Word>
auto word_filter() -> size_t (*)(const Word*, uint32_t, uint64_t, uint64_t, uint32_t*) {
  return nullptr;
}

}  // namespace without_filter

}  // namespace heaptap::arch
