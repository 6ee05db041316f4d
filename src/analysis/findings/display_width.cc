#include "analysis/findings/display_width.h"

#include <algorithm>
#include <array>

namespace heaptap::findings {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// Of Unicode 15: EastAsianWidth.txt (W and F), and the blocks of combining marks and format characters (Mn, Cf) that occur in
// identifiers and paths.
constexpr std::array<Range, 19> kWide{{{0x1100, 0x115f},
                                       {0x231a, 0x231b},
                                       {0x23e9, 0x23ec},
                                       {0x2e80, 0x303e},
                                       {0x3041, 0x33ff},
                                       {0x3400, 0x4dbf},
                                       {0x4e00, 0x9fff},
                                       {0xa000, 0xa4cf},
                                       {0xa960, 0xa97c},
                                       {0xac00, 0xd7a3},
                                       {0xf900, 0xfaff},
                                       {0xfe30, 0xfe6b},
                                       {0xff01, 0xff60},
                                       {0xffe0, 0xffe6},
                                       {0x16fe0, 0x18cff},
                                       {0x1b000, 0x1b2ff},
                                       {0x1f300, 0x1f64f},
                                       {0x1f680, 0x1faff},
                                       {0x20000, 0x3fffd}}};
constexpr std::array<Range, 7> kNoColumn{{{0x300, 0x36f},
                                          {0x483, 0x489},
                                          {0x591, 0x5bd},
                                          {0x200b, 0x200f},
                                          {0x20d0, 0x20f0},
                                          {0xfe00, 0xfe0f},
                                          {0xe0100, 0xe01ef}}};

template <size_t kCount>
bool is_in(const std::array<Range, kCount>& ranges, char32_t character) {
  return std::ranges::any_of(
      ranges, [character](const Range& range) { return character >= range.first && character <= range.last; });
}

size_t columns_of(char32_t character) {
  if (character < 0x300) return 1;
  if (is_in(kNoColumn, character)) return 0;
  return is_in(kWide, character) ? 2 : 1;
}

// ESC [ parameters letter
size_t escape_length(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  size_t end = 2;
  while (end < text.size() && (text[end] < '@' || text[end] > '~')) ++end;
  return std::min(end + 1, text.size());
}

}  // namespace

DisplayedCharacter first_character(std::string_view text) {
  if (const size_t escape = escape_length(text); escape != 0) return {escape, 0};
  const auto byte = static_cast<unsigned char>(text.front());
  const size_t length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
  if (length == 1 || length > text.size()) return {1, 1};
  char32_t character = byte & (0xffU >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0U) != 0x80) return {1, 1};
    character = character << 6 | (next & 0x3fU);
  }
  return {length, columns_of(character)};
}

}  // namespace heaptap::findings
