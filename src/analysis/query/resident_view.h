// Resident memory of a report, from a source's samples.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analysis/report/report.h"
#include "analysis/report/resident.h"
#include "common/model/resident.h"

namespace heaptap::query {

struct ResidentPart {
  uint64_t from_ns = 0;
  uint64_t to_ns = ~uint64_t{0};
  bool from_start = true;  // it begins with the program
};

// None: no sample lies in the part.
std::optional<report::Resident> resident_of(std::span<const model::ResidentSample> samples, const ResidentPart& part);

// For each point the last sample until its end; none before the first sample.
void add_resident(std::vector<report::TimelinePoint>& timeline, std::span<const model::ResidentSample> samples);

}  // namespace heaptap::query
