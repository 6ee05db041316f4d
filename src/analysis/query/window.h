// Window of a recording, parsed from the command line: times and marks.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/model/mark.h"

namespace heaptap::query {

// Moment of a recording; for a mark and the peak with its exact place among the events.
struct Moment {
  uint64_t time_ns = 0;
  std::optional<uint64_t> event = {};  // number of events before it
  bool is_earlier = false;             // a mark from before this program was executed: the recording's beginning
  bool is_peak = false;                // of the live bytes
};

// "1.5s", "250ms": since the start of the capture; `start`, `end` (which is kEndNs); "NAME": the last mark of that name,
// "NAME:2": the second one; "#7": the mark with that number.
inline constexpr uint64_t kEndNs = ~uint64_t{0};
base::Result<Moment> moment_of(std::string_view text, const std::vector<model::Mark>& marks);

// "peak", unless there is a mark of that name.
bool is_peak(std::string_view text, const std::vector<model::Mark>& marks);

// Time from one moment to another. At a mark the place among the events decides, since its time is approximate.
struct Span {
  Moment first = {};
  Moment last = {.time_ns = kEndNs};
};

// As given by the user: only allocations in it count, and those of them live at its end.
struct Window {
  std::string from = {};  // as for moment_of(); empty: span.first
  std::string to = {};    // empty: span.last
  Span span = {};

  // Whether resolve_window needs the peak.
  [[nodiscard]] bool needs_peak(const std::vector<model::Mark>& marks) const {
    return is_peak(from, marks) || is_peak(to, marks);
  }
  [[nodiscard]] bool is_given() const {
    return !from.empty() || !to.empty() || span.first.time_ns != 0 || span.last.time_ns != kEndNs;
  }
};
// `peak`: none: isn't known.
base::Result<Span> resolve_window(const Window& window, const std::vector<model::Mark>& marks,
                                  const std::optional<Moment>& peak = {});

}  // namespace heaptap::query
