// Progress messages of `run` and `attach` while the tracer works.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "capture/supervision/tracer_source.h"

namespace heaptap::app {

// `way_out`: how the user ends a recording; appended to the message that one has started.
std::string text_of(const supervision::TracingNews& news, std::string_view way_out);

// A tracer that is blocked in the kernel, on this machine or on another one.
struct WaitOfTracer {
  uint64_t process = 0;
  std::string place;   // in the kernel; empty: unknown
  bool looks = false;  // it gives up soon
};
std::string text_of_wait(const WaitOfTracer& wait);

}  // namespace heaptap::app
