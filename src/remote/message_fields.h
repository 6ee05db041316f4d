// Bytes as texts of a message's fields, and the other way round.
#pragma once
#include <cstdint>
#include <string>

#include "base/byte_span.h"
#include "trace/byte_buffer.h"

namespace heaptap::remote {

using base::bytes_of;
using base::text_of;
inline std::string text_of(const trace::ByteBuffer& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Of kFiguresNow, in kReason: what a report is wanted for. 0: none is.
inline constexpr uint64_t kReportBySignal = 1;   // to the process
inline constexpr uint64_t kReportByConsole = 2;  // somebody at the target asks for it

}  // namespace heaptap::remote
