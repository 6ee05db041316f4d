#include "app/moment.h"

#include <algorithm>

#include "base/units.h"

namespace heaptap::app {

base::Result<uint64_t> moment_of(const std::string& text, const NamedMoments& named) {
  if (text == "start") return uint64_t{0};
  if (text == "end") return named.end_ns;
  const auto time = base::parse_duration(text);
  if (time) return *time;
  return base::fail_as(base::ErrorKind::kUsage,
                       "'{}' is not a time of the recording: give a time such as 250ms or 1.5s, "
                       "or one of start, end",
                       text);
}

base::Result<std::vector<uint64_t>> moments_of(const MomentSeries& series, const NamedMoments& named) {
  constexpr uint64_t kMaxMoments = 10'000;
  std::vector<uint64_t> moments;
  for (const std::string& text : series.at) {
    const auto moment = moment_of(text, named);
    if (!moment) return std::unexpected(moment.error());
    if (*moment > named.end_ns) {
      return base::fail_as(base::ErrorKind::kUsage, "'{}' is later than the recording's end, after {}", text,
                           base::format_duration(named.end_ns));
    }
    moments.push_back(*moment);
  }
  if (const uint64_t every_ns = series.every_ns.value_or(0); every_ns != 0) {
    const uint64_t count = named.end_ns / every_ns;
    if (count >= kMaxMoments) {
      return base::fail_as(base::ErrorKind::kUsage,
                           "every {} of a recording of {} is {} times, and at most {} can be had: "
                           "choose a longer time",
                           base::format_duration(every_ns), base::format_duration(named.end_ns),
                           base::format_count(count), base::format_count(kMaxMoments));
    }
    for (uint64_t number = 1; number <= count; ++number) moments.push_back(number * every_ns);
    moments.push_back(named.end_ns);
  }
  std::ranges::sort(moments);
  const auto repeated = std::ranges::unique(moments);
  moments.erase(repeated.begin(), repeated.end());
  return moments;
}

}  // namespace heaptap::app
