#include "views/json/utf8.h"

namespace heaptap::json {
namespace {

// Well-formed byte sequences: The Unicode Standard, table 3-7.
struct Sequence {
  size_t length = 1;                                          // 1: not a first byte
  unsigned char second_lowest = 0x80, second_highest = 0xbf;  // all further bytes are 0x80 to 0xbf
};
Sequence sequence_of(unsigned char first) {
  if (first < 0xc2 || first > 0xf4) return {};
  if (first < 0xe0) return {.length = 2};
  if (first == 0xe0) return {.length = 3, .second_lowest = 0xa0};
  if (first == 0xed) return {.length = 3, .second_highest = 0x9f};  // else a surrogate
  if (first < 0xf0) return {.length = 3};
  if (first == 0xf0) return {.length = 4, .second_lowest = 0x90};
  if (first == 0xf4) return {.length = 4, .second_highest = 0x8f};
  return {.length = 4};
}

}  // namespace

Utf8Character first_character(std::string_view text) {
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(text[at]); };
  if (byte(0) < 0x80) return {.length = 1, .is_whole = true};
  const Sequence sequence = sequence_of(byte(0));
  size_t length = 1;
  while (length < sequence.length && length < text.size()) {
    const unsigned char lowest = length == 1 ? sequence.second_lowest : 0x80;
    const unsigned char highest = length == 1 ? sequence.second_highest : 0xbf;
    if (byte(length) < lowest || byte(length) > highest) break;
    ++length;
  }
  return {.length = length, .is_whole = sequence.length > 1 && length == sequence.length};
}

}  // namespace heaptap::json
