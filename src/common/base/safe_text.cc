#include "common/base/safe_text.h"

#include <fmt/format.h>

#include <cstdint>

namespace heaptap::base {
namespace {

// Length of the UTF-8 character at the beginning of `text` and its code point; 0: invalid.
size_t decode(std::string_view text, uint32_t& code_point) {
  const auto byte = [&](size_t index) { return static_cast<uint8_t>(text[index]); };
  if (byte(0) < 0x80) {
    code_point = byte(0);
    return 1;
  }
  const size_t length = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc2 || byte(0) > 0xf4 || text.size() < length) {
    return 0;
  }
  code_point = byte(0) & (0xffU >> (length + 1));
  for (size_t index = 1; index < length; ++index) {
    if ((byte(index) & 0xc0) != 0x80) {
      return 0;
    }
    code_point = code_point << 6 | (byte(index) & 0x3fU);
  }
  const uint32_t least = length == 2 ? 0x80 : length == 3 ? 0x800 : 0x10000;
  const bool surrogate = code_point >= 0xd800 && code_point <= 0xdfff;
  return code_point < least || code_point > 0x10ffff || surrogate ? 0 : length;
}

bool harmless(uint32_t code_point) {
  const bool control = code_point < 0x20 || (code_point >= 0x7f && code_point < 0xa0);
  const bool separator = code_point == 0x2028 || code_point == 0x2029;
  const bool direction = (code_point >= 0x200e && code_point <= 0x200f) ||
                         (code_point >= 0x202a && code_point <= 0x202e) ||
                         (code_point >= 0x2066 && code_point <= 0x2069);
  return !control && !separator && !direction;
}

}  // namespace

std::string safe_text(std::string_view text) {
  std::string result;
  for (size_t place = 0; place < text.size();) {
    uint32_t code_point = 0;
    const size_t length = decode(text.substr(place), code_point);
    if (length != 0 && harmless(code_point)) {
      result += text.substr(place, length);
    } else {
      for (size_t index = place; index < place + (length == 0 ? 1 : length); ++index) {
        result += fmt::format("\\x{:02x}", static_cast<uint8_t>(text[index]));
      }
    }
    place += length == 0 ? 1 : length;
  }
  return result;
}

}  // namespace heaptap::base
