#include "host/leaks/word_filter.h"

#include "arch/native.h"

namespace heaptap::leaks {

size_t select_words_portably(const uint64_t* words, uint32_t count, uint64_t begin, uint64_t end, uint32_t* found) {
  const uint64_t length = end - begin;
  size_t size = 0;
  for (uint32_t i = 0; i < count; ++i) {
    found[size] = i;
    size += words[i] - begin < length ? 1 : 0;
  }
  return size;
}

WordFilter best_word_filter() {
  return arch::native::has_word_filter() ? arch::native::select_words : select_words_portably;
}

}  // namespace heaptap::leaks
