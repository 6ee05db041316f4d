// Conversions between bytes and text fields of messages.
#pragma once
#include <cstdint>
#include <string>

#include "common/base/byte_span.h"
#include "common/frames/byte_buffer.h"

namespace heaptap::line {

using base::bytes_of;
using base::text_of;
inline std::string text_of(const frames::ByteBuffer& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Reason for a requested report, in kReason of kFiguresNow. 0: none is requested.
inline constexpr uint64_t kReportBySignal = 1;   // signal to the process
inline constexpr uint64_t kReportByConsole = 2;  // console at the target

}  // namespace heaptap::line
