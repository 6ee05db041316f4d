#include "capture/scan/vtables.h"

#include <algorithm>

namespace heaptap::scan {

Vtables::Vtables(std::vector<base::AddressRange> read_only_data, unsigned word_bytes)
    : word_shift_(word_bytes == sizeof(uint32_t) ? 2 : 3), ranges_(std::move(read_only_data)) {
  std::erase_if(ranges_, [](const base::AddressRange& range) { return range.begin >= range.end; });
  std::sort(ranges_.begin(), ranges_.end(),
            [](const base::AddressRange& a, const base::AddressRange& b) { return a.begin < b.begin; });
}

base::AddressRange Vtables::span() const {
  if (ranges_.empty()) return {};
  return {ranges_.front().begin, ranges_.back().end};
}

base::AddressRange Vtables::span_beside(const BlockIndex& blocks) const {
  constexpr uint64_t kRegionBytes = BlockIndex::kRegionBytes;
  base::AddressRange found{};
  for (const base::AddressRange& range : ranges_) {
    for (uint64_t at = range.begin; at < std::min(range.end, BlockIndex::kAddressEnd);) {
      const uint64_t next = std::min(range.end, (at / kRegionBytes + 1) * kRegionBytes);
      if (blocks.may_hold(at)) found = {found.end == 0 ? at : found.begin, next};
      at = next;
    }
  }
  return found;
}

bool Vtables::holds(uint64_t address) const {
  const auto after = std::upper_bound(ranges_.begin(), ranges_.end(), address,
                                      [](uint64_t at, const base::AddressRange& range) { return at < range.begin; });
  return after != ranges_.begin() && address < (after - 1)->end;
}

bool Vtables::is_vtable(uint64_t address, CountedMemory& memory) {
  if (address % (1u << word_shift_) != 0) return false;
  const uint64_t piece = address / kPieceBytes;
  if (piece != last_piece_) {
    if (!holds(address)) return false;
    const auto [found, is_new] = pieces_.try_emplace(piece);
    if (is_new) {
      found->second = word_shift_ == 2 ? read_piece<uint32_t>(piece, memory) : read_piece<uint64_t>(piece, memory);
    }
    last_ = found->second;
    last_piece_ = piece;
  }
  const size_t word = address % kPieceBytes >> word_shift_;
  return (last_[word / 64] >> word % 64 & 1) != 0;
}

// `words` is at the vtable's address.
template <typename Word>
bool Vtables::looks_like_one(const Word* words) const {
  constexpr Word kMaxOffset = sizeof(Word) == 4 ? 1u << 26 : uint64_t{1} << 32;  // to the top of an object
  const Word up = static_cast<Word>(Word{0} - words[-2]);
  if (up >= kMaxOffset || up % sizeof(Word) != 0) return false;
  const Word type = words[-1];
  // Without type information (-fno-rtti) there is at least a function.
  return type == 0 ? words[0] != 0 && up == 0 : type % sizeof(Word) == 0 && holds(type);
}

template <typename Word>
Vtables::Piece Vtables::read_piece(uint64_t piece, CountedMemory& memory) const {
  constexpr size_t kPieceWords = kPieceBytes / sizeof(Word);
  std::array<Word, kWordsBefore + kPieceWords> words{};
  const uint64_t begin = piece * kPieceBytes;
  const auto bytes = std::as_writable_bytes(std::span(words));
  const std::span to(reinterpret_cast<uint8_t*>(bytes.data()), bytes.size());
  const uint64_t before = kWordsBefore * sizeof(Word);
  // What is in front of a range's first piece can't be read, perhaps.
  if (!holds(begin - before) || memory.read(begin - before, to) < to.size()) {
    words = {};
    memory.read(begin, to.subspan(before));
  }
  Piece found{};
  for (size_t i = 0; i < kPieceWords; ++i) {
    const bool is_one = holds(begin + i * sizeof(Word)) && looks_like_one(&words[kWordsBefore + i]);
    found[i / 64] |= uint64_t{is_one} << i % 64;
  }
  return found;
}

}  // namespace heaptap::scan
