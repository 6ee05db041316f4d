#include "capture/process/program_memory.h"

#include <algorithm>
#include <span>

#include "common/base/sizes.h"

namespace heaptap::process {

std::optional<uint64_t> ProgramMemory::word(uint64_t address) const {
  if (word_bytes_ == sizeof(uint32_t)) return value<uint32_t>(address);
  return value<uint64_t>(address);
}

template <typename Word>
std::vector<Word> ProgramMemory::words_of(base::AddressRange range) const {
  const size_t most = range.end > range.begin ? base::at_most(kMaxWordsBytes, range.size()) / sizeof(Word) : 0;
  constexpr size_t kPiece = size_t{1} << 20;
  std::vector<Word> result;
  // Grows with the bytes read, not with the requested size.
  for (size_t done = 0; done < most;) {
    result.resize(std::min(most, done + kPiece));
    const std::span<Word> piece = std::span(result).subspan(done);
    const size_t got = read_some(range.begin + done * sizeof(Word), piece.data(), piece.size_bytes());
    done += got / sizeof(Word);
    if (got == piece.size_bytes()) continue;
    result.resize(done);
    break;
  }
  return result;
}

std::vector<uint64_t> ProgramMemory::words(base::AddressRange range) const {
  if (word_bytes_ != sizeof(uint32_t)) return words_of<uint64_t>(range);
  const std::vector<uint32_t> words = words_of<uint32_t>(range);
  return {words.begin(), words.end()};
}

}  // namespace heaptap::process
