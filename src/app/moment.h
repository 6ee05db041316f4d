// Moments of a recording, as they are given on the command line.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/mark.h"

namespace heaptap::app {

// Single ones (analysis/window.h), and one every so often, with the recording's end.
struct MomentSeries {
  std::vector<std::string> at;
  std::optional<uint64_t> every_ns;

  [[nodiscard]] bool is_empty() const { return at.empty() && !every_ns; }
};

// Ascending, each once, and none later than the end.
base::Result<std::vector<uint64_t>> moments_of(const MomentSeries& series, uint64_t end_ns,
                                               const std::vector<model::Mark>& marks);

}  // namespace heaptap::app
