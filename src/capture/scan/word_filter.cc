#include "capture/scan/word_filter.h"

#include "common/arch/native.h"

namespace heaptap::scan {

template <typename Word>
WordFilter<Word> best_word_filter() {
  const WordFilter<Word> fast = arch::native::word_filter<Word>();
  return fast != nullptr ? fast : select_words_portably<Word>;
}

template WordFilter<uint32_t> best_word_filter();
template WordFilter<uint64_t> best_word_filter();

}  // namespace heaptap::scan
