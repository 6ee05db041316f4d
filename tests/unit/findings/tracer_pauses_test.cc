#include "analysis/findings/tracer_pauses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace heaptap::findings {
namespace {

using testing::EndsWith;

constexpr uint64_t kMs = 1'000'000;

TEST(TracerPauses, AreAShareOfTheTime) {
  EXPECT_EQ(paused_share(250 * kMs, 1000 * kMs), 0.25);
  EXPECT_EQ(paused_share(0, 1000 * kMs), 0.0);
  EXPECT_EQ(paused_share(2000 * kMs, 1000 * kMs), 1.0) << "times of two clocks may differ a little";
  EXPECT_EQ(paused_share({}, 1000 * kMs), std::nullopt);
  EXPECT_EQ(paused_share(0, 0), std::nullopt);
}

TEST(TracerPauses, MatterFromATwentiethOfTheTimeOn) {
  EXPECT_TRUE(pauses_matter(500 * kMs, 10'000 * kMs));
  EXPECT_FALSE(pauses_matter(499 * kMs, 10'000 * kMs));
  EXPECT_FALSE(pauses_matter(99 * kMs, 100 * kMs)) << "a short program";
  EXPECT_TRUE(pauses_matter(100 * kMs, 100 * kMs));
  EXPECT_FALSE(pauses_matter({}, 10'000 * kMs));
}

TEST(TracerPauses, AreToldWhereTheyMatter) {
  model::Capture capture;
  capture.duration_ns = 4000 * kMs;
  EXPECT_EQ(pauses_sentence(capture), "");
  capture.paused_by_tracer_ns = 1240 * kMs;
  EXPECT_EQ(pauses_sentence(capture),
            "the tracer paused the program for at least 1.24 s, 31% of the time: queues may grow that don't otherwise");
  capture.architecture = "x86_64";
  EXPECT_THAT(pauses_sentence(capture), EndsWith("otherwise")) << "it was started by heaptap";
  capture.from_start = false;
  EXPECT_THAT(pauses_sentence(capture), EndsWith("; attach --via agent doesn't pause it"));
  capture.architecture = "aarch64";
  EXPECT_THAT(pauses_sentence(capture), EndsWith("otherwise"));
  capture.paused_by_tracer_ns = 10 * kMs;
  EXPECT_EQ(pauses_sentence(capture), "");
  EXPECT_EQ(pauses_text(10 * kMs, 4000 * kMs), "10.0 ms, 0% of the time");
}

}  // namespace
}  // namespace heaptap::findings
