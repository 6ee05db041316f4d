// Vectorized inner loop of a leak scan: none, the scalar one serves.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace heaptap::arch::arm {

template <typename Word>
auto word_filter() -> size_t (*)(const Word*, uint32_t, uint64_t, uint64_t, uint32_t*) {
  return nullptr;
}

}  // namespace heaptap::arch::arm
