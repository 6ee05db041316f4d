// Filter for possible pointers in a piece of memory: words within a range of addresses. Vectorized where the CPU
// supports it. Private to scan/.
#pragma once
#include <cstddef>
#include <cstdint>

namespace heaptap::scan {

// Writes the index of each word in [begin, end) to `found`, ascending; there is room for `count`. Returns their number.
// `Word` has the target's size: uint32_t or uint64_t. `begin` is not 0; it and `end` are both below 2^63, or both at or
// above it; for shorter words at most 2^32.
template <typename Word>
using WordFilter = size_t (*)(const Word* words, uint32_t count, uint64_t begin, uint64_t end, uint32_t* found);

template <typename Word>
size_t select_words_portably(const Word* words, uint32_t count, uint64_t begin, uint64_t end, uint32_t* found) {
  const uint64_t length = end - begin;
  size_t size = 0;
  for (uint32_t i = 0; i < count; ++i) {
    found[size] = i;
    size += words[i] - begin < length ? 1 : 0;
  }
  return size;
}

// The fastest supported variant.
template <typename Word>
[[nodiscard]] WordFilter<Word> best_word_filter();

}  // namespace heaptap::scan
