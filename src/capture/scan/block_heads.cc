#include "capture/scan/block_heads.h"

#include <algorithm>

namespace heaptap::scan {
namespace {

// The string of the old C++ ABI, of char, char16_t or char32_t (wchar_t).
bool is_std_string(uint64_t size, uint64_t length, uint64_t capacity, uint64_t head_bytes) {
  if (size < head_bytes || length > capacity || capacity > size) return false;
  const uint64_t characters = size - head_bytes;
  return characters == capacity + 1 || characters == 2 * (capacity + 1) || characters == 4 * (capacity + 1);
}

}  // namespace

template <typename Word>
void BlockHeads::note(uint32_t block, uint64_t size, const Word (&words)[kHeadWords]) {
  uint8_t patterns = 0;
  const uint64_t count = words[0];
  constexpr uint64_t kCookieBytes = sizeof(Word);
  if (size == kCookieBytes && count == 0) patterns |= kEmptyArray;
  if (size > kCookieBytes && count != 0 && (size - kCookieBytes) % count == 0) patterns |= kArrayCookie;
  if (size > kCookieBytes && count == size - kCookieBytes) patterns |= kLength64;
  if constexpr (sizeof(Word) < kWideLengthBytes) {
    const uint64_t length = words[0] | uint64_t{words[1]} << 32;
    if (length != 0 && length + kWideLengthBytes == size) patterns |= kWideLength;
  }
  if (is_std_string(size, words[0], words[1], string_head_bytes())) patterns |= kStdString;
  patterns_[block] = patterns;
}

template void BlockHeads::note(uint32_t, uint64_t, const uint32_t (&)[kHeadWords]);
template void BlockHeads::note(uint32_t, uint64_t, const uint64_t (&)[kHeadWords]);

wire::PointerKind BlockHeads::kind_of(uint64_t pointer, const model::ScannedBlock& held, uint32_t block) const {
  const uint64_t offset = pointer - held.address;
  if (offset == 0) return wire::PointerKind::kStart;
  const uint8_t patterns = patterns_[block];
  if (offset == string_head_bytes() && (patterns & kStdString) != 0) return wire::PointerKind::kStdString;
  if (offset == cookie_bytes() && (patterns & kLength64) != 0) return wire::PointerKind::kLength64;
  if (offset == kWideLengthBytes && (patterns & kWideLength) != 0) return wire::PointerKind::kLength64;
  if (offset == cookie_bytes() && (patterns & (kArrayCookie | kEmptyArray)) != 0) {
    return wire::PointerKind::kArrayCookie;
  }
  if (held.type != 0 && std::binary_search(inner_vtables_.begin(), inner_vtables_.end(), pointer)) {
    return wire::PointerKind::kMultipleInheritance;
  }
  return wire::PointerKind::kInterior;
}

}  // namespace heaptap::scan
