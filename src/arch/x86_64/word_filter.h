// A leak scan's innermost loop in vector instructions (AVX2). No part of the agent: word_filter.cc isn't freestanding.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace heaptap::arch::x86_64 {

// This CPU can run these.
[[nodiscard]] bool has_word_filter();

// Writes the index of each word in [begin, end) to `found`, ascending; room for `count` is there. Returns how many there are.
// `begin` and `end` are below 2^63, and not 0.
size_t select_words(const uint64_t* words, uint32_t count, uint64_t begin, uint64_t end, uint32_t* found);

// The same of a 32-bit target's words. `begin` and `end` are at most 2^32.
size_t select_short_words(const uint32_t* words, uint32_t count, uint64_t begin, uint64_t end, uint32_t* found);

}  // namespace heaptap::arch::x86_64
