// Moments of a recording given on the command line.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/model/mark.h"

namespace heaptap::app {

// Single moments (analysis/query/window.h), and periodic ones including the recording's end.
struct MomentSeries {
  std::vector<std::string> at;
  std::optional<uint64_t> every_ns;

  [[nodiscard]] bool is_empty() const { return at.empty() && !every_ns; }
};

// Ascending, without duplicates, none after the end.
base::Result<std::vector<uint64_t>> moments_of(const MomentSeries& series, uint64_t end_ns,
                                               const std::vector<model::Mark>& marks);

}  // namespace heaptap::app
