#include "common/frames/resident_frames.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace heaptap::frames {
namespace {

constexpr uint64_t kKib = 1024;

model::ResidentSample sample_at(uint64_t time_ns, uint64_t kib) {
  return {.time_ns = time_ns, .anonymous_bytes = kib * kKib, .file_bytes = 2 * kKib, .shared_bytes = 0};
}

ByteBuffer payload_of(const std::vector<model::ResidentSample>& samples) {
  ByteBuffer payload;
  write_resident(payload, samples);
  return payload;
}

bool read_varints(std::initializer_list<uint64_t> numbers, std::vector<model::ResidentSample>& samples) {
  ByteBuffer payload;
  for (const uint64_t number : numbers) payload.varint(number);
  wire::VarintReader in(payload.data(), payload.size());
  return read_resident(in, samples);
}

TEST(ResidentFrames, SamplesComeBack) {
  std::vector<model::ResidentSample> samples = {sample_at(5, 70), sample_at(5, 10), sample_at(UINT64_MAX, 1)};
  samples[0].swapped_bytes = 0;
  samples[0].peak_bytes = 90 * kKib;
  samples[1].log_bytes = 3 * kKib;
  samples[2].peak_bytes = 80 * kKib;
  samples[2].shared_bytes = model::kMaxResidentBytes - kKib;
  const ByteBuffer payload = payload_of(samples);
  wire::VarintReader in(payload.data(), payload.size());
  std::vector<model::ResidentSample> read;
  ASSERT_TRUE(read_resident(in, read));
  EXPECT_TRUE(in.at_end());
  EXPECT_EQ(read, samples);
}

TEST(ResidentFrames, SamplesOfAQuietProcessAreShort) {
  constexpr uint64_t kInterval = 20'000'000;
  std::vector<model::ResidentSample> samples;
  for (uint64_t i = 0; i < 100; ++i) samples.push_back(sample_at(i * kInterval, 40'000));
  EXPECT_LT(payload_of(samples).size(), 100 * 9U);
}

TEST(ResidentFrames, AShortPayloadIsRefused) {
  std::vector<model::ResidentSample> samples = {sample_at(1000, 70000), sample_at(2000, 1)};
  samples[1].peak_bytes = 500 * kKib;
  const ByteBuffer payload = payload_of(samples);
  for (size_t bytes = 0; bytes < payload.size(); ++bytes) {
    wire::VarintReader in(payload.data(), bytes);
    std::vector<model::ResidentSample> read;
    EXPECT_FALSE(read_resident(in, read)) << bytes;
    EXPECT_TRUE(read.empty());
  }
}

TEST(ResidentFrames, ACountBeyondThePayloadTakesNoMemory) {
  std::vector<model::ResidentSample> read;
  EXPECT_FALSE(read_varints({uint64_t{1} << 60, 1, 2, 2, 2, 0}, read));
  EXPECT_TRUE(read.empty());
}

TEST(ResidentFrames, ImpossibleNumbersAreRefused) {
  std::vector<model::ResidentSample> read;
  const uint64_t most = wire::zigzag(static_cast<int64_t>(model::kMaxResidentBytes / kKib));
  EXPECT_FALSE(read_varints({1, 1, most, 0, 0, 0}, read));                       // too large
  EXPECT_FALSE(read_varints({1, 1, wire::zigzag(-1), 0, 0, 0}, read));           // below 0
  EXPECT_FALSE(read_varints({1, 1, 0, 0, 0, 2, UINT64_MAX}, read));              // the peak too
  EXPECT_FALSE(read_varints({2, UINT64_MAX, 0, 0, 0, 0, 1, 0, 0, 0, 0}, read));  // times that overflow
  EXPECT_TRUE(read_varints({1, 1, most - 2, most - 2, most - 2, 0}, read));
}

TEST(ResidentFrames, SamplesBeforeTheLastOneAreRefused) {
  std::vector<model::ResidentSample> read = {sample_at(100, 1)};
  EXPECT_FALSE(read_varints({1, 99, 0, 0, 0, 0}, read));
  EXPECT_TRUE(read_varints({1, 100, 0, 0, 0, 0}, read));
}

TEST(ResidentFrames, MoreThanATraceHasIsRefused) {
  const std::vector<model::ResidentSample> samples(100, sample_at(7, 1));
  const ByteBuffer payload = payload_of(samples);
  std::vector<model::ResidentSample> read(model::kMaxResidentSamples - 150);
  wire::VarintReader in(payload.data(), payload.size());
  EXPECT_TRUE(read_resident(in, read));
  in = {payload.data(), payload.size()};
  EXPECT_FALSE(read_resident(in, read));
  EXPECT_EQ(read.size(), model::kMaxResidentSamples - 50);
}

TEST(ResidentFrames, AmountsOfLaterVersionsArePassedOver) {
  std::vector<model::ResidentSample> read;
  ASSERT_TRUE(read_varints({2, 1, 0, 0, 0, 0b1'1010, 4, 77, 88, 1, 2, 0, 0, 0}, read));
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0].peak_bytes, 2 * kKib);
  EXPECT_EQ(read[0].log_bytes, std::nullopt);
  EXPECT_EQ(read[1].time_ns, 2U);
  EXPECT_EQ(read[1].anonymous_bytes, kKib);
  EXPECT_FALSE(read_varints({1, 1, 0, 0, 0, 0b1'1000, 77}, read));
}

}  // namespace
}  // namespace heaptap::frames
