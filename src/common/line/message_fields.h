// Conversions between bytes and text fields of messages.
#pragma once
#include <string>

#include "common/base/byte_span.h"
#include "common/frames/byte_buffer.h"

namespace heaptap::line {

using base::bytes_of;
using base::text_of;
inline std::string text_of(const frames::ByteBuffer& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace heaptap::line
