// A moment of a recording, as it is given on the command line.
#pragma once
#include <cstdint>
#include <string>

#include "base/result.h"

namespace heaptap::app {

// The moments that have names.
struct NamedMoments {
  uint64_t end_ns = 0;
};

// Nanoseconds from the recording's beginning: "1.5s", "250ms", `start`, `end`.
base::Result<uint64_t> moment_of(const std::string& text, const NamedMoments& named);

}  // namespace heaptap::app
