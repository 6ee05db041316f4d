// A moment of a recording, as it is given on the command line.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace heaptap::app {

// The moments that have names.
struct NamedMoments {
  uint64_t end_ns = 0;
};

// Nanoseconds from the recording's beginning: "1.5s", "250ms", `start`, `end`.
base::Result<uint64_t> moment_of(const std::string& text, const NamedMoments& named);

// Several of them: single ones, and one every so often, with the recording's end.
struct MomentSeries {
  std::vector<std::string> at;
  std::optional<uint64_t> every_ns;

  [[nodiscard]] bool is_empty() const { return at.empty() && !every_ns; }
};

// Ascending, each once, and none later than the end.
base::Result<std::vector<uint64_t>> moments_of(const MomentSeries& series, const NamedMoments& named);

}  // namespace heaptap::app
