// Base64 (RFC 4648, 4).
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace heaptap::base {

// Without padding.
std::string base64_encode(std::span<const uint8_t> bytes);
// Padded, as data: URLs, atob() and the JSON of protocol buffers require.
std::string base64_padded(std::span<const uint8_t> bytes);
// Of text without padding. False: no valid encoding of that many bytes.
bool base64_decode(std::string_view text, std::span<uint8_t> bytes);

}  // namespace heaptap::base
