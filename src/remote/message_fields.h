// Conversions between bytes and text fields of messages.
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

// Reason for a requested report, in kReason of kFiguresNow. 0: none is requested.
inline constexpr uint64_t kReportBySignal = 1;   // signal to the process
inline constexpr uint64_t kReportByConsole = 2;  // console at the target

}  // namespace heaptap::remote
