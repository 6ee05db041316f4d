// Window of a recording, parsed from the command line: times and marks.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "analysis/query/analyze.h"
#include "common/base/result.h"
#include "common/model/mark.h"

namespace heaptap::query {

// Moment of a recording; for a mark with its exact place among the events.
struct Moment {
  uint64_t time_ns = 0;
  std::optional<uint64_t> event;  // number of events before it
  bool is_earlier = false;        // a mark from before this program was executed: the recording's beginning
};

// "1.5s", "250ms": since the start of the capture; `start`, `end` (which is kEndNs); "NAME": the last mark of that name,
// "NAME:2": the second one; "#7": the mark with that number.
inline constexpr uint64_t kEndNs = ~uint64_t{0};
base::Result<Moment> moment_of(std::string_view text, const std::vector<model::Mark>& marks);

// Resolves the query's moments (Query::from, Query::to) into its times and events.
base::Result<> resolve_window(Query& query, const std::vector<model::Mark>& marks);

}  // namespace heaptap::query
