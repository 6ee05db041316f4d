#include "common/base/base64.h"

namespace heaptap::base {
namespace {

constexpr std::string_view kBase64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr unsigned kDigitBits = 6;
constexpr unsigned kByteBits = 8;

}  // namespace

std::string base64_encode(std::span<const uint8_t> bytes) {
  std::string text;
  text.reserve((bytes.size() * kByteBits + kDigitBits - 1) / kDigitBits);
  uint32_t pending = 0;
  unsigned pending_bits = 0;
  for (const uint8_t byte : bytes) {
    pending = pending << kByteBits | byte;
    pending_bits += kByteBits;
    while (pending_bits >= kDigitBits) {
      pending_bits -= kDigitBits;
      text += kBase64Digits[pending >> pending_bits & 63u];
    }
  }
  if (pending_bits > 0) text += kBase64Digits[pending << (kDigitBits - pending_bits) & 63u];
  return text;
}

std::string base64_padded(std::span<const uint8_t> bytes) {
  constexpr size_t kGroup = 4;
  std::string text = base64_encode(bytes);
  text.append((kGroup - text.size() % kGroup) % kGroup, '=');
  return text;
}

bool base64_decode(std::string_view text, std::span<uint8_t> bytes) {
  if (text.size() != (bytes.size() * kByteBits + kDigitBits - 1) / kDigitBits) return false;
  uint32_t pending = 0;
  unsigned pending_bits = 0;
  size_t done = 0;
  for (const char letter : text) {
    const size_t digit = kBase64Digits.find(letter);
    if (digit == std::string_view::npos) return false;
    pending = pending << kDigitBits | static_cast<uint32_t>(digit);
    pending_bits += kDigitBits;
    if (pending_bits < kByteBits) continue;
    pending_bits -= kByteBits;
    bytes[done++] = static_cast<uint8_t>(pending >> pending_bits);
  }
  // One text for each value: the unused bits of the last character must be zero.
  return (pending & ((1u << pending_bits) - 1)) == 0;
}

}  // namespace heaptap::base
