// Which words of a piece of memory may be pointers: those in a range of addresses. By vector instructions where this CPU has
// them. Private to leaks/.
#pragma once
#include <cstddef>
#include <cstdint>

namespace heaptap::leaks {

// Writes the index of each word in [begin, end) to `found`, ascending; room for `count` is there. Returns how many there are.
// `begin` and `end` are below 2^63, and not 0.
using WordFilter = size_t (*)(const uint64_t* words, uint32_t count, uint64_t begin, uint64_t end, uint32_t* found);

size_t select_words_portably(const uint64_t* words, uint32_t count, uint64_t begin, uint64_t end, uint32_t* found);

// The fastest that this CPU can run.
[[nodiscard]] WordFilter best_word_filter();

}  // namespace heaptap::leaks
