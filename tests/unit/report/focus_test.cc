#include "analysis/report/focus.h"

#include <gtest/gtest.h>

namespace heaptap::report {
namespace {

constexpr uint64_t kMiB = 1 << 20;

// A program that freed its peak of 50 MiB.
Report freed_peak() {
  Report report;
  report.capture.ended = true;
  report.totals.allocations = 50;
  report.totals.allocated_bytes = 50 * kMiB;
  report.totals.peak_live_bytes = 50 * kMiB;
  return report;
}

// A million temporary blocks of 100 bytes.
Report temporaries() {
  Report report;
  report.capture.ended = true;
  report.totals.allocations = 1'000'000;
  report.totals.allocated_bytes = 100'000'000;
  report.totals.temporary_allocations = 1'000'000;
  report.totals.peak_live_bytes = 100;
  return report;
}

TEST(Focus, IsThePeakWhereLittleOfItIsLeft) {
  Report report = freed_peak();
  EXPECT_EQ(focus_of(report), Focus::kPeak);
  report.totals.live_bytes = 12 * kMiB;
  EXPECT_EQ(focus_of(report), Focus::kPeak);
  report.totals.live_bytes = 13 * kMiB;
  EXPECT_EQ(focus_of(report), Focus::kLive) << "over a quarter";
}

TEST(Focus, IsTemporaryAllocationsWhereNothingElseIsToBeSeen) {
  Report report = temporaries();
  EXPECT_EQ(focus_of(report), Focus::kTemporary);
  report.totals.live_bytes = 900'000;
  report.totals.peak_live_bytes = 1'000'000;
  EXPECT_EQ(focus_of(report), Focus::kTemporary) << "next to nothing is left";
  report.totals.live_bytes = 2'000'000;
  report.totals.peak_live_bytes = 2'000'000;
  EXPECT_EQ(focus_of(report), Focus::kLive);
}

TEST(Focus, IsNotTemporaryAllocationsWhereThePeakIsLarge) {
  Report report = temporaries();
  report.totals.peak_live_bytes = 50'000'000;
  EXPECT_EQ(focus_of(report), Focus::kPeak);
}

TEST(Focus, IsNotTemporaryAllocationsWhereTheyAreFew) {
  Report report = temporaries();
  report.totals.temporary_allocations = 400'000;
  EXPECT_EQ(focus_of(report), Focus::kPeak) << "under half of the calls";
  report.totals.allocations = report.totals.temporary_allocations = 999;
  EXPECT_EQ(focus_of(report), Focus::kPeak) << "few calls cost nothing";
}

TEST(Focus, IsLiveMemoryWhereNothingWasAllocated) {
  Report report;
  report.capture.ended = true;
  EXPECT_EQ(focus_of(report), Focus::kLive);
}

TEST(Focus, LeavesOutWhatLibrariesKeep) {
  Report report = freed_peak();
  report.totals.live_bytes = 75'000;
  report.totals.peak_live_bytes = 76'000;
  EXPECT_EQ(focus_of(report), Focus::kLive);
  report.leaks.kept_by_libraries = {{.purpose = Purpose::kEmergencyPool, .reachable = {1, 75'000}, .possible = {}}};
  EXPECT_EQ(focus_of(report), Focus::kPeak);
  report.totals.peak_live_bytes = 75'000;
  EXPECT_EQ(focus_of(report), Focus::kLive) << "the program held nothing";
  report = temporaries();
  report.totals.allocations = report.totals.temporary_allocations = 10'000;
  report.totals.allocated_bytes = 1'000'000;
  report.totals.live_bytes = 75'000;
  report.totals.peak_live_bytes = 75'100;
  EXPECT_EQ(focus_of(report), Focus::kLive);
  report.leaks.kept_by_libraries = {{.purpose = Purpose::kEmergencyPool, .reachable = {1, 75'000}, .possible = {}}};
  EXPECT_EQ(focus_of(report), Focus::kTemporary);
}

TEST(Focus, CountsMappedMemoryAsLeft) {
  Report report = freed_peak();
  report.totals.mapped.add(model::MappedKind::kPrivate, 160 * kMiB);
  EXPECT_EQ(focus_of(report), Focus::kLive) << "peak";
  report = temporaries();
  report.totals.mapped.add(model::MappedKind::kPrivate, 160 * kMiB);
  EXPECT_EQ(focus_of(report), Focus::kLive) << "temporary";
}

TEST(Focus, IsThePeakWhereLessWasMapped) {
  Report report = freed_peak();
  report.totals.mapped.add(model::MappedKind::kPrivate, 50 * kMiB);
  EXPECT_EQ(focus_of(report), Focus::kPeak);
  report.totals.live_bytes = 13 * kMiB;
  EXPECT_EQ(focus_of(report), Focus::kLive) << "over a quarter of the blocks";
  report.totals.live_bytes = 0;
  report.totals.mapped.add(model::MappedKind::kPrivate, 1);
  EXPECT_EQ(focus_of(report), Focus::kLive) << "more was mapped";
}

TEST(Focus, CountsReservedAddressesAsNothing) {
  Report report = freed_peak();
  report.totals.mapped.add(model::MappedKind::kReserved, 160 * kMiB);
  report.totals.mapped_live_bytes = report.totals.peak_mapped_bytes = 160 * kMiB;
  EXPECT_EQ(focus_of(report), Focus::kPeak);
}

TEST(Focus, IsLiveMemoryWhereAFigureIsUnknown) {
  using Figure = base::Known<uint64_t> Totals::*;
  for (const Figure figure : {&Totals::live_bytes, &Totals::peak_live_bytes, &Totals::mapped_live_bytes}) {
    for (Report report : {freed_peak(), temporaries()}) {
      (report.totals.*figure).set_unknown();
      EXPECT_EQ(focus_of(report), Focus::kLive);
    }
  }
}

TEST(Focus, IsNeverTemporaryAllocationsWhereTheirNumberIsUnknown) {
  using Figure = base::Known<uint64_t> Totals::*;
  for (const Figure figure : {&Totals::allocations, &Totals::temporary_allocations, &Totals::allocated_bytes}) {
    Report report = temporaries();
    (report.totals.*figure).set_unknown();
    EXPECT_EQ(focus_of(report), Focus::kPeak);
    report = freed_peak();
    (report.totals.*figure).set_unknown();
    EXPECT_EQ(focus_of(report), Focus::kPeak) << "not asked for the peak";
  }
}

TEST(Focus, IsNoPeakOfTotalsAlone) {
  Report report = freed_peak();
  report.has_events = false;
  EXPECT_EQ(focus_of(report), Focus::kLive) << "the stacks' shares of it are unknown";
  report = temporaries();
  report.has_events = false;
  EXPECT_EQ(focus_of(report), Focus::kTemporary);
}

TEST(Focus, IsLiveMemoryBeforeTheEnd) {
  for (Report report : {freed_peak(), temporaries()}) {
    report.capture.running = true;
    EXPECT_EQ(focus_of(report), Focus::kLive);
    report.capture.running = report.capture.ended = false;
    EXPECT_EQ(focus_of(report), Focus::kLive) << "cut off";
  }
}

TEST(Focus, OfAProgramThatGoesOnIsWhatWasRecorded) {
  Report report = freed_peak();
  report.capture.detached = true;
  EXPECT_EQ(focus_of(report), Focus::kPeak);
  report = temporaries();
  report.capture.detached = true;
  EXPECT_EQ(focus_of(report), Focus::kTemporary);
}

TEST(Focus, OfAWindowIsWhatItLeft) {
  Report report = freed_peak();
  report.window.emplace().has_older = true;
  EXPECT_EQ(focus_of(report), Focus::kLive);
  report.window->has_older = false;
  EXPECT_EQ(focus_of(report), Focus::kPeak) << "from the start";
}

}  // namespace
}  // namespace heaptap::report
