// Vectorized inner loop of a leak scan (AVX2). Not part of the agent: word_filter.cc isn't freestanding.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace heaptap::arch::x86_64 {

// Whether the current processor supports these functions.
[[nodiscard]] bool has_word_filter();

// Writes the index of each word in [begin, end) to `found`, ascending; there is room for `count`. Returns their number.
// `begin` and `end` are below 2^63, and not 0.
size_t select_words(const uint64_t* words, uint32_t count, uint64_t begin, uint64_t end, uint32_t* found);

// The same for words of a 32-bit target. `begin` and `end` are at most 2^32.
size_t select_short_words(const uint32_t* words, uint32_t count, uint64_t begin, uint64_t end, uint32_t* found);

template <typename Word>
auto word_filter() -> size_t (*)(const Word*, uint32_t, uint64_t, uint64_t, uint32_t*) {
  if (!has_word_filter()) return nullptr;
  if constexpr (sizeof(Word) == sizeof(uint64_t)) {
    return select_words;
  } else {
    return select_short_words;
  }
}

}  // namespace heaptap::arch::x86_64
