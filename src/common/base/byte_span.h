// Conversions between text and byte spans. Neither owns anything.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

namespace heaptap::base {

inline std::string_view text_of(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline std::span<const uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

}  // namespace heaptap::base
