#include <gtest/gtest.h>

#include <string>

#include "apps/heaptap/mcp/answers.h"

namespace heaptap::app {
namespace {

class McpVerdict : public testing::Test {
 protected:
  McpVerdict() { leaks_.limits.emplace_back(); }

  [[nodiscard]] std::string word() const {
    const std::string text = verdict_text(leaks_, report_);
    return text.substr(0, text.find('\n'));
  }

  findings::Verdict leaks_;
  report::Report report_;
};

TEST_F(McpVerdict, CleanIfNothingIsLostAndNoReleaseIsBad) {
  EXPECT_EQ(verdict_text(leaks_, report_), "verdict: clean\n");
  leaks_.remarks = {"an\x1b[31m"};
  EXPECT_EQ(verdict_text(leaks_, report_), "verdict: clean\n- an\\x1b[31m\n");
}

TEST_F(McpVerdict, UnknownIfBadReleasesAreUnknown) {
  report_.totals.set_bad_frees_unknown();
  EXPECT_EQ(word(), "verdict: unknown");
  report_.totals.mismatched_releases = 1;
  EXPECT_EQ(word(), "verdict: bad frees") << "at least one";
  report_.totals = {};
  report_.known.releases = false;
  EXPECT_EQ(word(), "verdict: unknown");
}

TEST_F(McpVerdict, LeaksAndTheirDoubtsComeFirst) {
  report_.totals.double_releases = 2;
  EXPECT_EQ(word(), "verdict: bad frees");
  leaks_.limits[0].certainty = report::Certainty::kAtLeast;
  EXPECT_EQ(word(), "verdict: unknown");
  leaks_.limits[0].figure = 1;
  EXPECT_EQ(word(), "verdict: leaks");
}

}  // namespace
}  // namespace heaptap::app
