// Which leaks come first.
#include "analysis/report/leak_weight.h"

#include <gtest/gtest.h>

#include "analysis/report/process_sums.h"

namespace heaptap::report {
namespace {

// A server with a peak of 1 MiB.
ProcessEntry server() {
  ProcessEntry process;
  process.totals.peak_live_bytes = 1 << 20;
  process.leaks.scanned = true;
  process.capture.ended = true;
  return process;
}

bool lead(const ProcessEntry& process) { return leaks_lead(process.totals, process.leaks); }

TEST(LeakWeight, APossibleLeakLeadsFromAHundredthOfThePeak) {
  ProcessEntry process = server();
  process.leaks.possible = {25, 1555};
  EXPECT_FALSE(lead(process));
  process.leaks.possible = {25, (1 << 20) / 100};
  EXPECT_TRUE(lead(process));
  process.leaks.possible = {};
  EXPECT_FALSE(lead(process)) << "no leaks";
}

TEST(LeakWeight, ALeakForCertainLeadsHoweverSmall) {
  ProcessEntry process = server();
  process.leaks.definite = {1, 7};
  EXPECT_TRUE(lead(process));
  EXPECT_FALSE(leaks_weigh(process.totals, process.leaks));
  process.leaks = server().leaks;
  process.leaks.pools.definite = {1, 7};
  EXPECT_TRUE(lead(process));
}

TEST(LeakWeight, OfAnUnknownPeakAPossibleLeakLeads) {
  ProcessEntry process = server();
  process.leaks.possible = {1, 8};
  process.totals.peak_live_bytes.set_unknown();
  EXPECT_TRUE(lead(process));
}

TEST(LeakWeight, WhatLibrariesKeepIsNoPartOfThePeak) {
  ProcessEntry process = server();
  process.leaks.possible = {1, 100};
  process.totals.peak_live_bytes = 75'100;
  EXPECT_FALSE(lead(process));
  process.leaks.kept_by_libraries = {{.purpose = Purpose::kEmergencyPool, .reachable = {1, 75'000}, .possible = {}}};
  EXPECT_TRUE(lead(process));
}

TEST(LeakWeight, OfAProgramThatMapsItsMemoryAFewBytesDoNotWeigh) {
  ProcessEntry process = server();
  process.totals.peak_live_bytes = 7;
  process.leaks.definite = {1, 7};
  EXPECT_TRUE(leaks_weigh(process.totals, process.leaks));
  process.totals.mapped.add(model::MappedKind::kPrivate, 150 << 20);
  EXPECT_FALSE(leaks_weigh(process.totals, process.leaks));
}

TEST(LeakWeight, WhatIsReachableIsToldWithLeaksThatExplainLittleOfIt) {
  ProcessEntry process = server();
  process.leaks.reachable = {256, 1 << 20};
  EXPECT_FALSE(reachable_outweighs(process.totals, process.leaks)) << "no leaks";
  process.leaks.definite = {1, 7};
  EXPECT_TRUE(reachable_outweighs(process.totals, process.leaks));
  process.leaks.definite = {1, 1 << 18};
  EXPECT_FALSE(reachable_outweighs(process.totals, process.leaks)) << "a fifth of what is left";
  process.leaks.definite = {1, 7};
  process.leaks.reachable = {16, 60 << 10};
  EXPECT_FALSE(reachable_outweighs(process.totals, process.leaks)) << "little is left";
  process.leaks.reachable = {256, 1 << 20};
  process.leaks.kept_by_libraries = {{.purpose = Purpose::kEmergencyPool, .reachable = {1, 1 << 20}, .possible = {}}};
  EXPECT_FALSE(reachable_outweighs(process.totals, process.leaks)) << "a library's";
}

TEST(LargestOfRun, IsTheProcessWithThePeakUnlessThatIsTheFirst) {
  std::vector<ProcessEntry> processes{server(), server()};
  EXPECT_EQ(largest_of_run(processes), nullptr) << "as large as the first";
  processes[1].totals.peak_live_bytes = 2 << 20;
  EXPECT_EQ(largest_of_run(processes), &processes[1]);
  processes[0].totals.peak_live_bytes = 4 << 20;
  EXPECT_EQ(largest_of_run(processes), nullptr);
}

TEST(LargestOfRun, CountsMappedMemoryToo) {
  std::vector<ProcessEntry> processes{server(), server(), server()};
  processes[0].totals.peak_live_bytes = 100 << 10;
  processes[1].totals.peak_live_bytes = 34 << 20;
  processes[1].leaks.definite = {1000, 787'262};
  EXPECT_EQ(largest_of_run(processes), nullptr) << "it loses a fiftieth";
  processes[2].totals.mapped.add(model::MappedKind::kPrivate, 158 << 20);
  EXPECT_EQ(largest_of_run(processes), &processes[2]);
  processes[0].totals.mapped.add(model::MappedKind::kPrivate, 158 << 20);
  EXPECT_EQ(largest_of_run(processes), nullptr) << "the first has as much";
}

TEST(LargestOfRun, IsNoneWhereSomethingElseComesFirst) {
  std::vector<ProcessEntry> processes{server(), server()};
  processes[0].totals.peak_live_bytes = 0;
  processes[0].leaks.definite = {1, (1 << 20) / 100};
  EXPECT_EQ(largest_of_run(processes), nullptr) << "a leak";
  processes[0].leaks.definite = {1, 7};
  EXPECT_EQ(largest_of_run(processes), &processes[1]) << "a leak of a trivial process";
  processes[0].leaks.definite = {};
  processes[1].totals.double_releases = 1;
  EXPECT_EQ(largest_of_run(processes), nullptr) << "a double free";
  processes[1].totals.double_releases = 0;
  processes[1].totals.peak_live_bytes.set_unknown();
  EXPECT_EQ(largest_of_run(processes), nullptr);
  EXPECT_EQ(largest_of_run({}), nullptr);
}

}  // namespace
}  // namespace heaptap::report
