#include "analysis/query/resident_view.h"

#include <algorithm>

namespace heaptap::query {
namespace {

using model::ResidentSample;

// The kernel's highest value counts if it was reached within the part: it has grown since, or the part is all of the
// program's time. Else the samples are all that is known.
void set_peak(report::Resident& resident, std::span<const ResidentSample> part, uint64_t peak_before) {
  for (const ResidentSample& sample : part) {
    resident.peak_bytes = std::max(resident.peak_bytes, sample.resident_bytes());
    const uint64_t peak_bytes = sample.peak_bytes.value_or(0);
    if (peak_bytes <= peak_before) continue;
    resident.is_peak_exact = true;
    resident.peak_bytes = std::max(resident.peak_bytes, peak_bytes);
  }
}

}  // namespace

std::optional<report::Resident> resident_of(std::span<const ResidentSample> samples, const ResidentPart& part) {
  const auto begin = std::ranges::lower_bound(samples, part.from_ns, {}, &ResidentSample::time_ns);
  const auto end = std::ranges::upper_bound(samples, part.to_ns, {}, &ResidentSample::time_ns);
  if (begin >= end) return std::nullopt;
  const ResidentSample& last = *std::prev(end);
  report::Resident resident{.time_ns = last.time_ns,
                            .bytes = last.resident_bytes(),
                            .swapped_bytes = last.swapped_bytes,
                            .log_bytes = last.log_bytes};
  if (last.has_kinds) {
    resident.kinds = {
        .anonymous_bytes = last.anonymous_bytes, .file_bytes = last.file_bytes, .shared_bytes = last.shared_bytes};
  }
  const bool is_from_start = part.from_start && part.from_ns == 0;
  const ResidentSample& before = begin == samples.begin() ? *begin : *std::prev(begin);
  set_peak(resident, {begin, end}, is_from_start ? 0 : before.peak_bytes.value_or(~uint64_t{0}));
  return resident;
}

void add_resident(std::vector<report::TimelinePoint>& timeline, std::span<const ResidentSample> samples) {
  auto next = samples.begin();
  for (report::TimelinePoint& point : timeline) {
    for (; next != samples.end() && next->time_ns <= point.time_ns; ++next)
      point.resident_bytes = next->resident_bytes();
  }
  // Between samples the last one holds.
  for (size_t i = 1; i < timeline.size(); ++i) {
    if (!timeline[i].resident_bytes.is_known()) timeline[i].resident_bytes = timeline[i - 1].resident_bytes;
  }
}

}  // namespace heaptap::query
