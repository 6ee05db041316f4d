// What samples of resident memory say of a recording, of parts of it, and of its timeline.
#include "analysis/query/resident_view.h"

#include <gtest/gtest.h>

#include <vector>

namespace heaptap::query {
namespace {

using model::ResidentSample;

constexpr uint64_t kMib = uint64_t{1} << 20;

ResidentSample sample(uint64_t time_ns, uint64_t mib, std::optional<uint64_t> peak_mib = {}) {
  return {.time_ns = time_ns,
          .anonymous_bytes = (mib - 1) * kMib,
          .file_bytes = kMib,
          .peak_bytes = peak_mib ? std::optional(*peak_mib * kMib) : std::nullopt};
}

TEST(ResidentView, WithoutSamplesItIsUnknown) {
  EXPECT_FALSE(resident_of({}, {}));
  EXPECT_FALSE(resident_of(std::vector{sample(50, 2)}, {.from_ns = 51}));
  EXPECT_FALSE(resident_of(std::vector{sample(50, 2)}, {.to_ns = 49}));
  std::vector<report::TimelinePoint> points(2);
  add_resident(points, {});
  EXPECT_FALSE(points[1].resident_bytes.is_known());
}

TEST(ResidentView, TheLastSampleCounts) {
  std::vector samples = {sample(10, 5), sample(20, 9), sample(30, 3)};
  samples[2].swapped_bytes = 7;
  samples[2].shared_bytes = 4 * kMib;
  samples[2].log_bytes = kMib;
  const auto resident = resident_of(samples, {});
  ASSERT_TRUE(resident && resident->kinds);
  EXPECT_EQ(resident->time_ns, 30U);
  EXPECT_EQ(resident->bytes, 7 * kMib);
  EXPECT_EQ(resident->own_bytes(), 6 * kMib);
  EXPECT_EQ(resident->kinds->anonymous_bytes, 2 * kMib);
  EXPECT_EQ(resident->kinds->file_bytes, kMib);
  EXPECT_EQ(resident->kinds->shared_bytes, 4 * kMib);
  EXPECT_EQ(resident->swapped_bytes, 7U);
}

TEST(ResidentView, WithoutTheKernelsPeakSamplesAreTheLeast) {
  const auto resident = resident_of(std::vector{sample(10, 5), sample(20, 9), sample(30, 3)}, {});
  EXPECT_EQ(resident->peak_bytes, 9 * kMib);
  EXPECT_FALSE(resident->is_peak_exact);
}

TEST(ResidentView, ThePeakBetweenSamplesIsTheKernels) {
  const auto resident = resident_of(std::vector{sample(10, 5, 6), sample(20, 3, 40)}, {});
  EXPECT_EQ(resident->peak_bytes, 40 * kMib);
  EXPECT_TRUE(resident->is_peak_exact);
}

TEST(ResidentView, APeakBeforeAnAttachIsNotTheRecordings) {
  const std::vector samples = {sample(10, 5, 400), sample(20, 9, 400), sample(30, 8, 400)};
  const auto attached = resident_of(samples, {.from_start = false});
  EXPECT_EQ(attached->peak_bytes, 9 * kMib);
  EXPECT_FALSE(attached->is_peak_exact);
  const auto grown = resident_of(std::vector{samples[0], sample(20, 9, 500)}, {.from_start = false});
  EXPECT_EQ(grown->peak_bytes, 500 * kMib);
  EXPECT_TRUE(grown->is_peak_exact);
}

TEST(ResidentView, OfAPartOnlyItsSamplesCount) {
  const std::vector samples = {sample(10, 90, 95), sample(20, 5, 95), sample(30, 6, 95), sample(40, 200, 300)};
  const auto part = resident_of(samples, {.from_ns = 20, .to_ns = 39});
  EXPECT_EQ(part->time_ns, 30U);
  EXPECT_EQ(part->peak_bytes, 6 * kMib);
  EXPECT_FALSE(part->is_peak_exact);
  EXPECT_EQ(resident_of(samples, {.to_ns = 39})->peak_bytes, 95 * kMib);
  EXPECT_TRUE(resident_of(samples, {.to_ns = 39})->is_peak_exact);
  EXPECT_EQ(resident_of(samples, {.from_ns = 20})->peak_bytes, 300 * kMib);
}

TEST(ResidentView, OtherToolsFilesHaveNoKinds) {
  ResidentSample other = sample(10, 5);
  other.has_kinds = false;
  const auto resident = resident_of({&other, 1}, {});
  EXPECT_EQ(resident->bytes, 5 * kMib);
  EXPECT_FALSE(resident->kinds);
}

TEST(ResidentView, PointsHaveTheLastSampleBeforeTheirEnd) {
  std::vector<report::TimelinePoint> points(4);
  for (size_t i = 0; i < points.size(); ++i) points[i].time_ns = 10 * (i + 1);
  add_resident(points, std::vector{sample(11, 5), sample(19, 6), sample(40, 8), sample(41, 9)});
  EXPECT_EQ(points[0].resident_bytes.if_known(), std::nullopt);
  EXPECT_EQ(points[1].resident_bytes.if_known(), 6 * kMib);
  EXPECT_EQ(points[2].resident_bytes.if_known(), 6 * kMib);
  EXPECT_EQ(points[3].resident_bytes.if_known(), 8 * kMib);
}

}  // namespace
}  // namespace heaptap::query
