#include "scan/word_filter.h"

#include "arch/native.h"

namespace heaptap::scan {

template <>
WordFilter<uint64_t> best_word_filter() {
  return arch::native::has_word_filter() ? arch::native::select_words : select_words_portably<uint64_t>;
}

template <>
WordFilter<uint32_t> best_word_filter() {
  return arch::native::has_word_filter() ? arch::native::select_short_words : select_words_portably<uint32_t>;
}

}  // namespace heaptap::scan
