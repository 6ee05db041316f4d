// Base64 (RFC 4648, 4) without padding.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace heaptap::base {

std::string base64_encode(std::span<const uint8_t> bytes);
// False: no valid encoding of that many bytes.
bool base64_decode(std::string_view text, std::span<uint8_t> bytes);

}  // namespace heaptap::base
