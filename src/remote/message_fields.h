// Bytes as texts of a message's fields, and the other way round.
#pragma once
#include <string>

#include "base/byte_span.h"
#include "trace/byte_buffer.h"

namespace heaptap::remote {

using base::bytes_of;
using base::text_of;
inline std::string text_of(const trace::ByteBuffer& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace heaptap::remote
