// Bytes as texts of a message's fields, and the other way round.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "trace/byte_buffer.h"

namespace heaptap::remote {

inline std::string_view text_of(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline std::string text_of(const trace::ByteBuffer& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline std::span<const uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

}  // namespace heaptap::remote
