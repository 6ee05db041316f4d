// A leak scan's innermost loop in vector instructions (AVX2). No part of the agent: word_filter.cc isn't freestanding.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace heaptap::arch::x86_64 {

// The processor that this runs on can run these.
[[nodiscard]] bool has_word_filter();

// Writes the index of each word in [begin, end) to `found`, ascending; room for `count` is there. Returns how many there are.
// `begin` and `end` are below 2^63, and not 0.
size_t select_words(const uint64_t* words, uint32_t count, uint64_t begin, uint64_t end, uint32_t* found);

// The same of a 32-bit target's words. `begin` and `end` are at most 2^32.
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
