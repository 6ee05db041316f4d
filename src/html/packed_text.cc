#include "html/packed_text.h"

#include <algorithm>
#include <cstdint>

namespace heaptap::html {
namespace {

std::string base64_of(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    for (size_t j = 0; j < 3; ++j) group = group << 8 | (j < count ? static_cast<uint8_t>(bytes[i + j]) : 0U);
    for (size_t j = 0; j < 4; ++j) text += j <= count ? kDigits[group >> (18 - 6 * j) & 63] : '=';
  }
  return text;
}

}  // namespace

PackedText::PackedText() : keep_([this](std::string_view piece) { packed_ += piece; }), gzip_(keep_) {}

std::string PackedText::finish() {
  gzip_.finish();
  return base64_of(packed_);
}

}  // namespace heaptap::html
