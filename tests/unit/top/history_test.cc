#include "views/top/history.h"

#include <gtest/gtest.h>

#include "made_up_recording.h"
#include "views/top/short_text.h"
#include "views/top/take_sample.h"

namespace heaptap::top {
namespace {

SharedSample sample_of(test::MadeUpRecording& recording) {
  auto sample = take_sample(recording, {.first_names = 10}, {});
  EXPECT_TRUE(sample.has_value());
  return std::make_shared<const Sample>(*std::move(sample));
}

class Histories : public testing::Test {
 protected:
  void SetUp() override { test::make_gate(recording_); }
  test::MadeUpRecording recording_;
  History history_;
};

TEST_F(Histories, KnowNoRateFromOneSample) {
  history_.add(sample_of(recording_));
  EXPECT_FALSE(history_.value(Gauge::kAllocations).has_value());
  EXPECT_FALSE(history_.bytes_per_second_of(1).has_value());
  EXPECT_EQ(history_.growth_of(1), 0);
  EXPECT_EQ(history_.value(Gauge::kLive), 2'345'678);
}

TEST_F(Histories, MakeRatesOfTwoSamples) {
  history_.add(sample_of(recording_));
  test::go_on(recording_);
  recording_.now.time_ns += 1'000'000'000;  // two seconds in all
  history_.add(sample_of(recording_));
  EXPECT_EQ(history_.value(Gauge::kAllocations), 750);
  EXPECT_EQ(history_.value(Gauge::kReleases), 600);
  EXPECT_EQ(history_.bytes_per_second_of(1), 50'000);
  EXPECT_EQ(history_.calls_per_second_of(2), 500);
  EXPECT_EQ(history_.calls_per_second_of(4), 0);
  EXPECT_EQ(history_.growth_of(1), -40'000);
  EXPECT_EQ(history_.growth_of(2), 100'000);
}

// The trace is written in frames: a sample may know no more than the one before, and the next one knows two seconds more.
TEST_F(Histories, KeepRatesWhereNothingMoreIsKnown) {
  recording_.now.time_ns = 10'000'000'000;
  history_.add(sample_of(recording_));
  test::go_on(recording_);
  const uint64_t written = recording_.now.time_ns;
  history_.add(sample_of(recording_));
  const auto rate = history_.value(Gauge::kAllocations);
  ASSERT_TRUE(rate && *rate > 0);
  recording_.last_event_ns = written;
  recording_.now.time_ns += 1'000'000'000;
  history_.add(sample_of(recording_));
  EXPECT_EQ(history_.value(Gauge::kAllocations), rate);
  // What is long over is known, and was nothing.
  recording_.now.time_ns += 10'000'000'000;
  history_.add(sample_of(recording_));
  EXPECT_EQ(history_.value(Gauge::kAllocations), 0);
}

TEST_F(Histories, CountGrowthFromAMark) {
  history_.add(sample_of(recording_));
  test::go_on(recording_);
  history_.add(sample_of(recording_));
  history_.set_base("loaded");
  EXPECT_EQ(history_.growth_of(2), 0);
  test::go_on(recording_);
  recording_.stacks.push_back({.frames = {"late"}, .count = {.allocations = 1, .live_blocks = 1, .live_bytes = 77}});
  history_.add(sample_of(recording_));
  EXPECT_EQ(history_.growth_of(2), 100'000);
  EXPECT_EQ(history_.growth_of(5), 77) << "a stack that wasn't there held nothing";
  EXPECT_EQ(history_.base_name(), "loaded");
}

TEST_F(Histories, BeginAnewWhereCountsWereSetBack) {
  history_.add(sample_of(recording_));
  recording_.now.time_ns += 1'000'000'000;
  recording_.totals.allocations = 3;
  history_.add(sample_of(recording_));
  EXPECT_FALSE(history_.value(Gauge::kAllocations).has_value());
  EXPECT_EQ(history_.series(Gauge::kLive).size(), 1u);
}

TEST_F(Histories, KeepSeriesOfFixedLength) {
  for (int i = 0; i < 2000; ++i) {
    test::go_on(recording_);
    recording_.stacks[0].count.live_bytes = 1;
    history_.add(sample_of(recording_));
  }
  EXPECT_EQ(history_.series(Gauge::kLive).size(), History::kMaxSeries);
  EXPECT_EQ(history_.series(Gauge::kReleases).back(), 1200);
}

TEST_F(Histories, SayWhatIsNotKnown) {
  recording_.totals.set_live_unknown();
  recording_.now.log_limit_bytes = 0;
  recording_.now.resident_bytes.reset();
  recording_.stacks[0].count.set_live_unknown();
  history_.add(sample_of(recording_));
  for (const Gauge gauge : {Gauge::kLive, Gauge::kBlocks, Gauge::kLog, Gauge::kResident, Gauge::kReleases})
    EXPECT_FALSE(history_.value(gauge).has_value()) << static_cast<int>(gauge);
  EXPECT_FALSE(history_.growth_of(1).has_value());
  EXPECT_FALSE(history_.growth_of(99).has_value());
  EXPECT_FALSE(history_.leaked_bytes_of(1).has_value());
}

TEST_F(Histories, TakeMeansAndTheTimelineOfThePast) {
  recording_.live = false;
  history_.add(sample_of(recording_));
  EXPECT_EQ(history_.bytes_per_second_of(1), 30'000);  // in a minute
  EXPECT_FALSE(history_.growth_of(1).has_value());
}

TEST(ShortTexts, AreShort) {
  EXPECT_EQ(short_bytes(0), "0");
  EXPECT_EQ(short_bytes(1023), "1023");
  EXPECT_EQ(short_bytes(1024), "1.00K");
  EXPECT_EQ(short_bytes(1024 * 1024 - 1), "1.00M");
  EXPECT_EQ(short_bytes(123.4 * 1024 * 1024), "123M");
  EXPECT_EQ(short_bytes(18446744073709551615.0), "16.0E");
  EXPECT_EQ(short_change(-1536), "-1.50K");
  EXPECT_EQ(short_change(0), "0");
  EXPECT_EQ(short_count(99'999), "99,999");
  EXPECT_EQ(short_count(0.5), "0.5");
  EXPECT_EQ(short_count(123'456), "123k");
  EXPECT_EQ(short_count(18446744073709551615.0), "18.4E");
  EXPECT_EQ(short_duration(999), "999ns");
  EXPECT_EQ(short_duration(1'500'000), "1.5ms");
  EXPECT_EQ(short_duration(125e9), "2m05");
  EXPECT_EQ(short_duration(18446744073709551615.0), "584y");
  EXPECT_EQ(clock_text(3'723'000'000'000), "01:02:03");
  EXPECT_EQ(clock_text(90'000'000'000'000), "1d 01:00:00");
}

}  // namespace
}  // namespace heaptap::top
