// Bytes as hexadecimal digits.
#pragma once
#include <string>
#include <string_view>

namespace heaptap::base {

// Two lower-case digits for each byte.
inline std::string hex_text(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    text += kDigits[value >> 4];
    text += kDigits[value & 0xf];
  }
  return text;
}

}  // namespace heaptap::base
