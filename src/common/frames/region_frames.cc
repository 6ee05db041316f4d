#include "common/frames/region_frames.h"

#include "common/base/check.h"

namespace heaptap::frames {
namespace {

using model::kRegionUnitBytes;

constexpr uint64_t kAllRuns = 1;  // flag
constexpr uint64_t kLeastRegionBytes = 4;
constexpr uint64_t kLeastRunBytes = 2;
constexpr uint64_t kMaxUnits = ~uint64_t{0} / kRegionUnitBytes;

// Distance of the range from `end`, the last one's, and its size.
void write_range(ByteBuffer& out, base::AddressRange range, uint64_t& end) {
  out.varint((range.begin - end) / kRegionUnitBytes);
  out.varint(range.size() / kRegionUnitBytes);
  end = range.end;
}

bool read_range(wire::VarintReader& in, base::AddressRange& range, uint64_t& end) {
  const uint64_t distance = in.varint();
  const uint64_t units = in.varint();
  if (!in.ok() || units == 0 || distance > kMaxUnits - end / kRegionUnitBytes) return false;
  range.begin = end + distance * kRegionUnitBytes;
  if (units > kMaxUnits - range.begin / kRegionUnitBytes) return false;
  end = range.end = range.begin + units * kRegionUnitBytes;
  return true;
}

bool read_region(wire::VarintReader& in, model::Region& region, uint64_t& end) {
  if (!read_range(in, region.range, end)) return false;
  const uint64_t kind = in.varint();
  region.kind = kind < model::kRegionKindCount ? static_cast<model::RegionKind>(kind) : model::RegionKind::kAnonymous;
  const uint64_t arena = region.kind == model::RegionKind::kArena ? in.varint() : 0;
  const uint64_t resident_units = in.varint();
  region.arena = static_cast<uint32_t>(arena);
  region.resident_bytes = resident_units * kRegionUnitBytes;
  return in.ok() && arena <= UINT32_MAX && resident_units <= region.range.size() / kRegionUnitBytes;
}

}  // namespace

void write_regions(ByteBuffer& out, const model::ResidentRegions& regions) {
  HEAPTAP_CHECK(regions.regions.size() <= model::kMaxRegions && regions.runs.size() <= model::kMaxResidentRuns);
  out.varint(regions.has_all_runs ? kAllRuns : 0);
  out.varint(regions.regions.size());
  uint64_t end = 0;
  for (const model::Region& region : regions.regions) {
    write_range(out, region.range, end);
    out.varint(static_cast<uint64_t>(region.kind));
    if (region.kind == model::RegionKind::kArena) out.varint(region.arena);
    out.varint(region.resident_bytes / kRegionUnitBytes);
  }
  out.varint(regions.runs.size());
  end = 0;
  for (const base::AddressRange& run : regions.runs) write_range(out, run, end);
}

bool read_regions(wire::VarintReader& in, model::ResidentRegions& regions) {
  model::ResidentRegions read;
  read.has_all_runs = (in.varint() & kAllRuns) != 0;
  const size_t region_count = in.entry_count(kLeastRegionBytes);
  if (!in.ok() || region_count > model::kMaxRegions) return false;
  read.regions.resize(region_count);
  uint64_t end = 0;
  for (model::Region& region : read.regions) {
    if (!read_region(in, region, end)) return false;
  }
  const size_t run_count = in.entry_count(kLeastRunBytes);
  if (!in.ok() || run_count > model::kMaxResidentRuns) return false;
  read.runs.resize(run_count);
  end = 0;
  for (base::AddressRange& run : read.runs) {
    if (!read_range(in, run, end)) return false;
  }
  regions = std::move(read);
  return true;
}

}  // namespace heaptap::frames
