// Which clocks may order events: every case of the decision, and that this machine's facts can be read.
#include "capture/log/clock_trust.h"

#include <gtest/gtest.h>

namespace heaptap::log {
namespace {

using Words = std::vector<std::string>;

ClockFacts facts(std::string source, Words available, bool is_invariant) {
  return {.source = std::move(source),
          .available = std::move(available),
          .counter = "tsc",
          .is_invariant = is_invariant,
          .wanted = ""};
}

// The kernel keeps watch over the counter as long as it takes its time from it, whatever else is so.
TEST(ClockTrust, TrustsTheCounterThatTheKernelTrusts) {
  for (const bool is_invariant : {false, true}) {
    for (const Words& available : {Words{}, Words{"tsc"}, Words{"tsc", "hpet", "acpi_pm"}}) {
      const ClockVerdict verdict = judge_clock(facts("tsc", available, is_invariant));
      EXPECT_TRUE(verdict.is_trusted());
    }
  }
}

TEST(ClockTrust, TrustsNoOtherSourceOfTime) {
  for (const char* source : {"hpet", "acpi_pm", "jiffies", "refined-jiffies", "tsc-early", "something new"}) {
    for (const bool is_invariant : {false, true}) {
      for (const Words& available : {Words{}, Words{"hpet", "acpi_pm"}, Words{"hpet", "tsc"}}) {
        const ClockVerdict verdict = judge_clock(facts(source, available, is_invariant));
        EXPECT_FALSE(verdict.is_trusted()) << source;
        EXPECT_EQ(verdict.doubt, ClockDoubt::kNotUsed);
        EXPECT_EQ(verdict.source, source);
      }
    }
  }
}

TEST(ClockTrust, TrustsAHypervisorsSourceWhereTheCounterUnderItIsSound) {
  for (const char* source : {"kvm-clock", "hyperv_clocksource_tsc_page", "xen"}) {
    const std::string name = source;
    EXPECT_TRUE(judge_clock(facts(name, {name, "tsc", "acpi_pm"}, true)).is_trusted()) << source;
    EXPECT_FALSE(judge_clock(facts(name, {name, "tsc"}, false)).is_trusted()) << source;
    EXPECT_FALSE(judge_clock(facts(name, {name, "acpi_pm"}, true)).is_trusted()) << source;
    EXPECT_FALSE(judge_clock(facts(name, {}, true)).is_trusted()) << source;
  }
}

TEST(ClockTrust, TrustsNothingWhereTheKernelSaysNothing) {
  for (const bool is_invariant : {false, true}) {
    const ClockVerdict verdict = judge_clock(facts("", {}, is_invariant));
    EXPECT_EQ(verdict.doubt, ClockDoubt::kNotKnown);
  }
}

TEST(ClockTrust, DoesWhatTheUserWants) {
  ClockFacts sound = facts("tsc", {"tsc"}, true);
  sound.wanted = "counter";
  EXPECT_EQ(judge_clock(sound).doubt, ClockDoubt::kNotWanted);
  ClockFacts unsound = facts("hpet", {"hpet"}, false);
  unsound.wanted = "processor";
  EXPECT_TRUE(judge_clock(unsound).is_trusted());
  unsound.wanted = "no such word";
  EXPECT_FALSE(judge_clock(unsound).is_trusted());
}

TEST(ClockTrust, ReadsTheFactsOfThisMachine) {
  const ClockFacts found = read_clock_facts();
  for (const std::string& word : found.available) EXPECT_EQ(word.find_first_of(" \n"), std::string::npos);
  EXPECT_EQ(judge_clock(found).doubt == ClockDoubt::kNotUsed, !judge_clock(found).source.empty());
}

}  // namespace
}  // namespace heaptap::log
