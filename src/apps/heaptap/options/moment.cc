#include "apps/heaptap/options/moment.h"

#include <algorithm>

#include "analysis/query/window.h"
#include "common/base/units.h"

namespace heaptap::app {

base::Result<std::vector<uint64_t>> moments_of(const MomentSeries& series, uint64_t end_ns,
                                               const std::vector<model::Mark>& marks) {
  constexpr uint64_t kMaxMoments = 10'000;
  std::vector<uint64_t> moments;
  for (const std::string& text : series.at) {
    const auto moment = query::moment_of(text, marks);
    if (!moment) return std::unexpected(moment.error());
    const uint64_t time_ns = moment->time_ns == query::kEndNs ? end_ns : moment->time_ns;
    if (time_ns > end_ns) {
      return base::fail_as(base::ErrorKind::kUsage, "'{}' is later than the recording's end, after {}", text,
                           base::format_duration(end_ns));
    }
    moments.push_back(time_ns);
  }
  if (const uint64_t every_ns = series.every_ns.value_or(0); every_ns != 0) {
    const uint64_t count = end_ns / every_ns;
    if (count >= kMaxMoments) {
      return base::fail_as(
          base::ErrorKind::kUsage,
          "a file every {} for a recording of {} makes {} files, at most {} are possible: choose a longer time",
          base::format_duration(every_ns), base::format_duration(end_ns), base::format_count(count),
          base::format_count(kMaxMoments));
    }
    for (uint64_t number = 1; number <= count; ++number) moments.push_back(number * every_ns);
    moments.push_back(end_ns);
  }
  std::ranges::sort(moments);
  const auto repeated = std::ranges::unique(moments);
  moments.erase(repeated.begin(), repeated.end());
  return moments;
}

}  // namespace heaptap::app
