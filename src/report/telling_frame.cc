#include "report/telling_frame.h"

#include <string_view>

namespace heaptap::report {
namespace {

// A frame of the C or C++ library says less than its caller, and so does one of a container that was compiled into the
// program: its code stands in the system's headers.
bool of_system(const model::Frame& frame) {
  const std::string_view module(frame.module);
  const std::string_view name = module.substr(module.rfind('/') + 1);
  for (const std::string_view library : {"libc.so", "ld-linux", "libstdc++.so", "libc++.so", "libgcc_s.so"}) {
    if (name.starts_with(library)) {
      return true;
    }
  }
  return frame.file.starts_with("/usr/");
}

}  // namespace

const model::Frame* telling_frame(const std::vector<model::Frame>& frames) {
  const model::Frame* own = nullptr;
  for (const model::Frame& frame : frames) {
    if (of_system(frame)) {
      continue;
    }
    if (!frame.file.empty()) {
      return &frame;
    }
    own = own == nullptr ? &frame : own;
  }
  return own != nullptr || frames.empty() ? own : &frames.front();
}

}  // namespace heaptap::report
