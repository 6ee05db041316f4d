#include "analysis/ledger/ledger.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <random>

#include "analysis/report/sample_bounds.h"
#include "event_script.h"
#include "reference_ledger.h"

namespace heaptap::ledger {
namespace {

using model::BadReleaseKind;
using model::EventKind;
using model::MappedKind;
using test::EventScript;
using wire::Function;
using wire::MappedAccess;
using wire::MappedMemory;
using wire::MappedSource;

Ledger replay(EventScript& script, LedgerOptions options = {.time_resolution_ns = 1000}) {
  Ledger ledger(std::move(options));
  ledger.add(script.take(), script.tables);
  return ledger;
}

const Tally& tally_of(const Ledger& ledger, EventScript& script, EventKind kind, Function function) {
  return ledger.tallies()[script.site(kind, function)];
}

// What the ledger says of when live blocks were allocated, and what the blocks themselves say.
void expect_times_of_blocks(const Ledger& ledger) {
  std::map<model::SiteId, std::pair<LiveSince, uint64_t>> expected;
  ledger.for_each_block([&](model::BlockNumber /*number*/, const Block& block) {
    auto& [since, blocks] = expected[block.site];
    since.add(block.allocated_at_ns);
    ++blocks;
  });
  for (model::SiteId site = 0; site < ledger.tallies().size(); ++site) {
    const auto& [since, blocks] = expected[site];
    EXPECT_EQ(ledger.live_since_of(site).mean_ns(1), since.mean_ns(1)) << "site " << site;
    EXPECT_EQ(ledger.live_since_of(site).mean_ns(blocks), since.mean_ns(blocks)) << "site " << site;
  }
}

TEST(Ledger, CountsWhatIsAlive) {
  EventScript script;
  script.allocate(100);
  const auto second = script.allocate(50);
  script.allocate(0);
  script.release(second);
  const Ledger ledger = replay(script);
  EXPECT_EQ(ledger.totals().allocations, 3u);
  EXPECT_EQ(ledger.totals().releases, 1u);
  EXPECT_EQ(ledger.totals().allocated_bytes, 150u);
  EXPECT_EQ(ledger.totals().live_bytes, 100u);
  EXPECT_EQ(ledger.totals().live_blocks(), 2u);
  EXPECT_EQ(ledger.totals().peak_live_bytes, 150u);
  EXPECT_EQ(ledger.totals().peak_live_blocks, 3u);
}

TEST(Ledger, RemembersWhatEachStackHeldAtThePeak) {
  EventScript script;
  const auto early = script.allocate(1000, 1, Function::kMalloc);
  const auto late = script.allocate(500, 1, Function::kCalloc);
  script.release(early);
  script.allocate(10, 1, Function::kMalloc);
  script.release(late);
  const Ledger ledger = replay(script);
  EXPECT_EQ(ledger.peak_bytes_of(script.site(EventKind::kAllocate, Function::kMalloc)), 1000u);
  EXPECT_EQ(ledger.peak_bytes_of(script.site(EventKind::kAllocate, Function::kCalloc)), 500u);
}

TEST(Ledger, CallsAnAllocationTemporaryOnlyIfItsThreadReleasesItNext) {
  EventScript script;
  script.release(script.allocate(1, 1), 1);  // temporary
  const auto other_thread = script.allocate(1, 1);
  script.release(other_thread, 2);
  const auto not_next = script.allocate(1, 1);
  script.allocate(1, 1);
  script.release(not_next, 1);
  const auto in_between_by_another = script.allocate(1, 1);
  script.allocate(1, 2);
  script.release(in_between_by_another, 1);  // temporary
  EXPECT_EQ(replay(script).totals().temporary_allocations, 2u);
}

TEST(Ledger, CountsAReleaseThatNobodySawAndNeverCallsItMismatched) {
  for (const Function function : {Function::kMalloc, Function::kNew, Function::kNewArray}) {
    for (const bool details : {false, true}) {
      EventScript script;
      script.release(script.allocate(8, 1, function), 1, Function::kNone);
      const Ledger ledger = replay(script, {.time_resolution_ns = 1000, .statistics = details, .details = details});
      EXPECT_EQ(ledger.totals().releases, 1u);
      EXPECT_EQ(ledger.totals().unseen_releases, 1u);
      EXPECT_EQ(ledger.totals().mismatched_releases, 0u);
      EXPECT_EQ(ledger.totals().temporary_allocations, 0u) << "who released it isn't known";
      EXPECT_EQ(ledger.totals().live_blocks(), 0u);
      EXPECT_TRUE(ledger.errors().all().empty());
    }
  }
}

TEST(Ledger, TreatsAFailedReallocAsIfNothingHadHappened) {
  EventScript script;
  const auto block = script.allocate(100, 1);
  script.release(block, 1, Function::kRealloc);
  const auto other = script.allocate(50, 2);
  script.release(other, 2);
  script.undo(1);
  const Ledger ledger = replay(script);
  EXPECT_EQ(ledger.totals().releases, 1u);
  EXPECT_EQ(ledger.totals().live_bytes, 100u);
  EXPECT_EQ(ledger.totals().peak_live_bytes, 150u) << "the block was alive all the time";
  EXPECT_EQ(ledger.totals().temporary_allocations, 1u);
  EXPECT_EQ(ledger.live_blocks(), 1u);
}

constexpr uint64_t kSecond = 1'000'000'000;

TEST(Ledger, KnowsWhenLiveBlocksWereAllocated) {
  EventScript script;
  script.at(2 * kSecond);
  script.allocate(1);
  script.at(5 * kSecond);
  script.allocate(2);
  script.release(script.allocate(3));
  script.at(9 * kSecond);
  const auto released = script.allocate(4);
  script.at(20 * kSecond);
  script.release(released);
  const Ledger ledger = replay(script);
  const model::SiteId site = script.site(EventKind::kAllocate, Function::kMalloc);
  EXPECT_EQ(ledger.live_since_of(site).mean_ns(2), kSecond * 7 / 2);
  EXPECT_EQ(ledger.live_since_of(site + 100).mean_ns(1), 0u);
}

TEST(Ledger, ABlockWhoseReallocFailedLivesSinceItsAllocation) {
  for (const bool statistics : {false, true}) {
    EventScript script;
    Ledger ledger({.time_resolution_ns = 1000, .statistics = statistics});
    script.at(2 * kSecond);
    const auto block = script.allocate(1);
    script.at(5 * kSecond);
    script.release(block, 1, Function::kRealloc);
    ledger.add(script.take(), script.tables);
    script.undo(1);
    ledger.add(script.take(), script.tables);
    EXPECT_EQ(ledger.live_since_of(script.site(EventKind::kAllocate, Function::kMalloc)).mean_ns(1), 2 * kSecond);
  }
}

TEST(Ledger, TimesOfManyBlocksOverDaysAddUp) {
  constexpr uint64_t kDays = 10ull * 86'400 * 1'000'000'000;
  LiveSince since;
  constexpr uint64_t kBlocks = 1'000'000;  // 8.6e20 ns: more than 64 bits
  for (uint64_t i = 0; i < kBlocks; ++i) since.add(kDays + i);
  EXPECT_EQ(since.mean_ns(kBlocks), kDays + kBlocks / 2 - 1);
  for (uint64_t i = 1; i < kBlocks; ++i) since.remove(kDays + i);
  EXPECT_EQ(since.mean_ns(1), kDays);
  EXPECT_EQ(since.mean_ns(0), 0u);
}

TEST(Ledger, AWindowKnowsWhatWasThereBeforeIt) {
  EventScript script;
  const auto kept = script.allocate(100);
  const auto older = script.allocate(50);
  const auto released_before = script.allocate(7);
  script.release(released_before);  // event 3
  script.allocate(10);
  const auto inside = script.allocate(20);
  script.release(older);
  script.release(inside);  // event 7
  script.allocate(1000);
  script.release(kept);
  Filter window;
  window.from_event = 4;
  window.to_event = 8;
  const Ledger ledger = replay(script, {.time_resolution_ns = 1000, .filter = window});
  EXPECT_EQ(ledger.totals().allocations, 2u);
  EXPECT_EQ(ledger.totals().releases, 1u);
  EXPECT_EQ(ledger.totals().live_bytes, 10u);
  EXPECT_TRUE(ledger.knows_older());
  EXPECT_EQ(ledger.older_releases().blocks, 1u);
  EXPECT_EQ(ledger.older_releases().bytes, 50u);
  size_t listed = 0;
  ledger.for_each_block([&](uint64_t /*number*/, const Block& block) {
    EXPECT_EQ(block.size_bytes, 10u);
    ++listed;
  });
  EXPECT_EQ(listed, 1u) << "what was there before is none of its blocks";
}

TEST(Ledger, AnOlderBlocksFailedReallocLeavesItAlive) {
  for (const uint64_t from : {uint64_t{1}, uint64_t{2}}) {
    EventScript script;
    Ledger ledger({.time_resolution_ns = 1000, .filter = {.from_event = from}});
    const auto block = script.allocate(100);
    script.release(block, 1, Function::kRealloc);
    ledger.add(script.take(), script.tables);
    script.undo(1);
    ledger.add(script.take(), script.tables);
    EXPECT_EQ(ledger.older_releases().blocks, 0u) << from;
    script.release(block);
    ledger.add(script.take(), script.tables);
    EXPECT_EQ(ledger.older_releases().blocks, 1u) << from;
    EXPECT_EQ(ledger.older_releases().bytes, 100u) << from;
  }
}

// However the events come in batches, and in whichever detail they are kept.
TEST(Ledger, WindowsBetweenMarksAddUp) {
  std::mt19937 random(5);
  EventScript script;
  std::vector<model::EventBatch> batches;
  std::vector<model::BlockNumber> live;
  uint64_t events = 0;
  for (int batch = 0; batch < 20; ++batch) {
    const int count = static_cast<int>(random() % 60);
    for (int i = 0; i < count; ++i, ++events) {
      if (random() % 3 == 0) script.at(events * 1000);
      if (!live.empty() && random() % 2 == 0) {
        std::swap(live[random() % live.size()], live.back());
        script.release(live.back(), 1 + static_cast<uint32_t>(random() % 3));
        live.pop_back();
      } else {
        live.push_back(script.allocate(random() % 5000, 1 + static_cast<uint32_t>(random() % 3),
                                       random() % 2 == 0 ? Function::kMalloc : Function::kNew));
      }
    }
    batches.push_back(script.take());
  }
  std::vector<uint64_t> cuts{0};
  while (cuts.back() < events) cuts.push_back(std::min<uint64_t>(events, cuts.back() + 1 + random() % 90));
  for (const bool details : {false, true}) {
    const auto read = [&](uint64_t from, uint64_t to) {
      Ledger ledger({.time_resolution_ns = 1000,
                     .statistics = details,
                     .details = details,
                     .filter = {.from_event = from, .to_event = to}});
      for (const model::EventBatch& batch : batches) ledger.add(batch, script.tables);
      return ledger;
    };
    const Ledger whole = read(0, ~uint64_t{0});
    if (details) expect_times_of_blocks(whole);
    uint64_t allocations = 0;
    uint64_t allocated_bytes = 0;
    int64_t growth = 0;
    std::map<model::SiteId, int64_t> growth_of;
    for (size_t i = 0; i + 1 < cuts.size(); ++i) {
      const Ledger window = read(cuts[i], cuts[i + 1]);
      if (details) expect_times_of_blocks(window);
      allocations += window.totals().allocations;
      allocated_bytes += window.totals().allocated_bytes;
      growth += static_cast<int64_t>(window.totals().live_bytes - window.older_releases().bytes);
      for (model::SiteId site = 0; site < window.tallies().size(); ++site) {
        growth_of[site] +=
            static_cast<int64_t>(window.tallies()[site].live_bytes - window.older_releases_of(site).bytes);
      }
    }
    EXPECT_EQ(allocations, whole.totals().allocations);
    EXPECT_EQ(allocated_bytes, whole.totals().allocated_bytes);
    EXPECT_EQ(growth, static_cast<int64_t>(whole.totals().live_bytes));
    for (const auto& [site, bytes] : growth_of)
      EXPECT_EQ(bytes, static_cast<int64_t>(whole.tallies()[site].live_bytes));
    ASSERT_GT(cuts.size(), 5u);
  }
}

TEST(Ledger, UndoesAReleaseOfAnEarlierBatch) {
  EventScript script;
  Ledger ledger({.time_resolution_ns = 1});
  const auto block = script.allocate(100, 1, Function::kNew);
  script.at(10);
  script.release(block, 1, Function::kRealloc);
  ledger.add(script.take(), script.tables);
  script.at(50);
  script.undo(1);
  ledger.add(script.take(), script.tables);
  EXPECT_EQ(ledger.totals().releases, 0u);
  EXPECT_EQ(ledger.totals().live_bytes, 100u);
  EXPECT_EQ(ledger.totals().mismatched_releases, 0u);
  EXPECT_EQ(ledger.errors().all().front().count, 0u);
  EXPECT_EQ(ledger.thread_tallies()[1].releases, 0u);
  EXPECT_TRUE(ledger.lifetimes().classes().empty());
  for (const TimelineBin& bin : ledger.timeline_bins()) {
    EXPECT_EQ(bin.at_end.releases, 0u);
  }
}

TEST(Ledger, UndoesOnlyWhatReallocReleased) {
  EventScript script;
  Ledger ledger({});
  script.release(script.allocate(100), 1, Function::kFree);
  ledger.add(script.take(), script.tables);
  script.undo(1);
  script.undo(2);
  ledger.add(script.take(), script.tables);
  EXPECT_EQ(ledger.totals().live_bytes, 0u);
}

TEST(Ledger, TakesBackAnUnknownReleaseThatFailed) {
  EventScript script;
  Ledger ledger({});
  script.bad_release(BadReleaseKind::kUnknown, 0x1000, 1, Function::kRealloc);
  ledger.add(script.take(), script.tables);
  EXPECT_EQ(ledger.totals().unknown_releases, 1u);
  script.undo(1);
  ledger.add(script.take(), script.tables);
  EXPECT_EQ(ledger.totals().unknown_releases, 0u);
}

TEST(Ledger, ComparesFamiliesOfReleaseAndAllocation) {
  struct Case {
    Function allocate;
    Function release;
    bool fits;
  };
  const Case cases[] = {
      {Function::kMalloc, Function::kFree, true},
      {Function::kCalloc, Function::kRealloc, true},
      {Function::kPosixMemalign, Function::kFree, true},
      {Function::kNew, Function::kDelete, true},
      {Function::kNewNothrow, Function::kDeleteSized, true},
      {Function::kNewArray, Function::kDeleteArray, true},
      {Function::kMalloc, Function::kDelete, false},
      {Function::kNew, Function::kFree, false},
      {Function::kNew, Function::kDeleteArray, false},
      {Function::kNewArray, Function::kDelete, false},
      {Function::kNewArray, Function::kRealloc, false},
  };
  for (const Case& each : cases) {
    EventScript script;
    script.release(script.allocate(8, 1, each.allocate), 1, each.release);
    const Ledger ledger = replay(script);
    EXPECT_EQ(ledger.totals().mismatched_releases, each.fits ? 0u : 1u)
        << wire::facts_of(each.allocate).symbol << " " << wire::facts_of(each.release).symbol;
  }
}

TEST(Ledger, CountsBadReleasesByKindAndJoinsTheSameOnes) {
  EventScript script;
  script.bad_release(BadReleaseKind::kNeverAllocated, 0x10);
  script.bad_release(BadReleaseKind::kNeverAllocated, 0x20);
  script.bad_release(BadReleaseKind::kDouble, 0x30);
  script.bad_release(BadReleaseKind::kInterior, 0x40);
  script.bad_release(BadReleaseKind::kUnknown, 0x50);
  const Ledger ledger = replay(script);
  EXPECT_EQ(ledger.totals().bad_releases, 3u);
  EXPECT_EQ(ledger.totals().double_releases, 1u);
  EXPECT_EQ(ledger.totals().unknown_releases, 1u);
  ASSERT_EQ(ledger.errors().all().size(), 3u);
  EXPECT_EQ(ledger.errors().all().front().count, 2u);
  EXPECT_EQ(ledger.errors().all().front().address, 0x10u);
}

TEST(Ledger, SplitsMappingsAndCountsTheirEndOnce) {
  EventScript script;
  script.map(0x10000, 0x4000);
  script.unmap(0x11000, 0x1000);
  script.unmap(0x0, 0x1000);
  const model::EventBatch begin = script.take();
  script.unmap(0x10000, 0x10000);
  Ledger ledger({});
  ledger.add(begin, script.tables);
  const Tally& tally = tally_of(ledger, script, EventKind::kMap, Function::kMmap);
  EXPECT_EQ(tally.live_bytes, 0x3000u);
  EXPECT_EQ(tally.releases, 0u);
  ledger.add(script.take(), script.tables);
  EXPECT_EQ(ledger.tallies()[0].live_bytes, 0u);
  EXPECT_EQ(ledger.tallies()[0].releases, 1u);
  EXPECT_EQ(ledger.totals().mapped_live_bytes, 0u);
  EXPECT_EQ(ledger.totals().peak_mapped_bytes, 0x4000u);
  EXPECT_EQ(ledger.totals().allocations, 0u) << "mappings are not in the heap's totals";
}

TEST(Ledger, LetsAMappingReplaceWhatWasInItsPlace) {
  EventScript script;
  script.map(0x10000, 0x2000);
  script.map(0x12000, 0x2000, 1, Function::kMmap64);
  script.map(0x11000, 0x2000, 1, Function::kMremap);
  script.unmap(0x10000, 1);  // a page
  const Ledger ledger = replay(script);
  EXPECT_EQ(tally_of(ledger, script, EventKind::kMap, Function::kMmap).releases, 1u);
  EXPECT_EQ(tally_of(ledger, script, EventKind::kMap, Function::kMmap64).live_bytes, 0x1000u);
  EXPECT_EQ(tally_of(ledger, script, EventKind::kMap, Function::kMremap).live_bytes, 0x2000u);
  EXPECT_EQ(ledger.totals().mapped_live_bytes, 0x3000u);
}

constexpr MappedMemory kReservation{MappedSource::kPrivate, MappedAccess::kNone};
constexpr MappedMemory kPrivateMemory{MappedSource::kPrivate, MappedAccess::kWrite};

uint64_t mapped_as(const Ledger& ledger, MappedKind kind) { return ledger.totals().mapped.of(kind).live_bytes; }

TEST(Ledger, AReservationBecomesMemoryByPieces) {
  EventScript script;
  script.map(0x10000, 0x10000, kReservation);
  script.protect(0x11000, 0x1000, MappedAccess::kWrite);
  script.protect(0x12000, 0x1, MappedAccess::kRead);  // a page
  script.protect(0x13000, 0x4000, MappedAccess::kWrite);
  script.protect(0x14000, 0x1000, MappedAccess::kNone);
  script.protect(0x8000, 0x1000, MappedAccess::kWrite);  // nothing that was seen
  Ledger ledger = replay(script);
  EXPECT_EQ(mapped_as(ledger, MappedKind::kPrivate), 0x5000u);
  EXPECT_EQ(mapped_as(ledger, MappedKind::kReserved), 0xb000u);
  EXPECT_EQ(ledger.totals().mapped.memory.peak_bytes, 0x6000u);
  EXPECT_EQ(ledger.totals().mapped_live_bytes, 0x10000u);
  EXPECT_EQ(ledger.mapped_bytes_of(0)[static_cast<size_t>(MappedKind::kPrivate)], 0x5000u);
  script.unmap(0x11000, 0x2000);
  script.unmap(0x14000, 0x1000);
  ledger.add(script.take(), script.tables);
  EXPECT_EQ(mapped_as(ledger, MappedKind::kPrivate), 0x3000u);
  EXPECT_EQ(mapped_as(ledger, MappedKind::kReserved), 0xa000u);
  script.unmap(0, 0x100000);
  ledger.add(script.take(), script.tables);
  EXPECT_EQ(mapped_as(ledger, MappedKind::kPrivate), 0u);
  EXPECT_EQ(mapped_as(ledger, MappedKind::kReserved), 0u);
  EXPECT_EQ(ledger.tallies()[0].releases, 1u);
}

TEST(Ledger, KnowsWhatEachSiteHadMappedAtThePeakOfMappedMemory) {
  EventScript script;
  const auto at_peak = [&script](const Ledger& ledger, Function function) {
    return ledger.mapped_peak_bytes_of(script.site(EventKind::kMap, function));
  };
  script.map(0x10000, 0x4000, kPrivateMemory);
  script.map(0x20000, 0x8000, kReservation, Function::kMmap64);
  script.protect(0x20000, 0x2000, MappedAccess::kWrite);  // the peak
  script.unmap(0x10000, 0x3000);
  script.protect(0x22000, 0x1000, MappedAccess::kWrite);
  Ledger ledger = replay(script);
  EXPECT_EQ(ledger.totals().mapped.memory.peak_bytes, 0x6000u);
  EXPECT_EQ(at_peak(ledger, Function::kMmap), 0x4000u);
  EXPECT_EQ(at_peak(ledger, Function::kMmap64), 0x2000u);

  script.map(0x40000, 0x10000, kPrivateMemory, Function::kMremap);  // the next one
  ledger.add(script.take(), script.tables);
  EXPECT_EQ(at_peak(ledger, Function::kMmap), 0x1000u);
  EXPECT_EQ(at_peak(ledger, Function::kMmap64), 0x3000u);
  EXPECT_EQ(at_peak(ledger, Function::kMremap), 0x10000u);
}

TEST(Ledger, MappedMemoryIsOfOneKindAtATime) {
  EventScript script;
  script.map(0x10000, 0x1000, {MappedSource::kFile, MappedAccess::kRead});
  script.map(0x20000, 0x2000, {MappedSource::kShared, MappedAccess::kWrite});
  script.map(0x30000, 0x3000, {MappedSource::kStack, MappedAccess::kWrite});
  script.map(0x40000, 0x4000, {MappedSource::kFile, MappedAccess::kNone});
  script.map(0x50000, 0x5000);  // of an older trace
  const Ledger ledger = replay(script);
  EXPECT_EQ(mapped_as(ledger, MappedKind::kFile), 0x1000u);
  EXPECT_EQ(mapped_as(ledger, MappedKind::kShared), 0x2000u);
  EXPECT_EQ(mapped_as(ledger, MappedKind::kStack), 0x3000u);
  EXPECT_EQ(mapped_as(ledger, MappedKind::kReserved), 0x4000u);
  EXPECT_EQ(mapped_as(ledger, MappedKind::kUnknown), 0x5000u);
  EXPECT_EQ(ledger.totals().mapped.memory.live_bytes, 0x5000u);
  EXPECT_EQ(ledger.totals().mapped_live_bytes, 0xf000u);
}

TEST(Ledger, WhatMovesStaysWhatItWas) {
  constexpr MappedMemory kMoved{.source = MappedSource::kMoved};
  EventScript script;
  script.map(0x10000, 0x2000, kPrivateMemory);
  script.unmap(0x10000, 0x2000);
  script.map(0x30000, 0x4000, kMoved, Function::kMremap);
  script.unmap(0x90000, 0x1000);  // nothing that was seen
  script.map(0x60000, 0x1000, kMoved, Function::kMremap);
  const Ledger ledger = replay(script);
  EXPECT_EQ(mapped_as(ledger, MappedKind::kPrivate), 0x4000u);
  EXPECT_EQ(mapped_as(ledger, MappedKind::kUnknown), 0x1000u);
  EXPECT_FALSE(ledger.totals().mapped.are_known());
}

// Against a page by page account.
TEST(Ledger, CountsKindsAsAnAccountOfSinglePagesDoes) {
  constexpr uint64_t kPages = 64;
  std::minstd_rand random(7);
  EventScript script;
  std::array<MappedMemory, kPages> pages{};
  std::array<bool, kPages> mapped{};
  for (int step = 0; step < 3000; ++step) {
    const uint64_t first = random() % kPages;
    const uint64_t count = 1 + random() % std::min<uint64_t>(8, kPages - first);
    const MappedMemory memory{static_cast<MappedSource>(1 + random() % 4), static_cast<MappedAccess>(1 + random() % 3)};
    const uint32_t what = random() % 4;
    for (uint64_t page = first; page < first + count; ++page) {
      if (what == 0) mapped[page] = false;
      if (what == 1) pages[page] = memory;
      if (what == 1) mapped[page] = true;
      if (what > 1) pages[page].access = memory.access;
    }
    if (what == 0) script.unmap(0x10000 + first * 0x1000, count * 0x1000);
    if (what == 1) script.map(0x10000 + first * 0x1000, count * 0x1000, memory);
    if (what > 1) script.protect(0x10000 + first * 0x1000, count * 0x1000, memory.access);
  }
  std::array<uint64_t, model::kMappedKinds> expected{};
  for (uint64_t page = 0; page < kPages; ++page) {
    if (mapped[page]) expected[static_cast<size_t>(model::kind_of(pages[page]))] += 0x1000;
  }
  const Ledger ledger = replay(script);
  for (size_t kind = 0; kind < expected.size(); ++kind)
    EXPECT_EQ(ledger.totals().mapped.kinds[kind].live_bytes, expected[kind]) << model::kMappedKindNames[kind];
  EXPECT_EQ(std::accumulate(expected.begin(), expected.end(), uint64_t{0}), ledger.totals().mapped_live_bytes);
}

TEST(Ledger, AMappingLivesSinceItWasMadeUntilNothingIsLeft) {
  EventScript script;
  script.at(2 * kSecond);
  script.map(0x10000, 0x2000);
  script.at(8 * kSecond);
  script.map(0x20000, 0x2000);
  script.at(9 * kSecond);
  script.unmap(0x10000, 0x1000);
  Ledger ledger({});
  ledger.add(script.take(), script.tables);
  const model::SiteId site = script.site(EventKind::kMap, Function::kMmap);
  EXPECT_EQ(ledger.live_since_of(site).mean_ns(2), 5 * kSecond);
  script.unmap(0x11000, 0x1000);
  ledger.add(script.take(), script.tables);
  EXPECT_EQ(ledger.live_since_of(site).mean_ns(1), 8 * kSecond);
}

TEST(Ledger, EndsAMappingAtTheEndOfTheAddressSpace) {
  EventScript script;
  script.map(~uint64_t{0} - 0x1000, ~uint64_t{0});
  script.unmap(0, ~uint64_t{0});
  const Ledger ledger = replay(script);
  EXPECT_EQ(ledger.tallies()[0].releases, 1u);
}

TEST(Ledger, ShowsATimeWindowAsItWasAtItsEnd) {
  EventScript script;
  script.at(0);
  const auto before = script.allocate(1);
  script.at(100);
  const auto within = script.allocate(20);
  script.allocate(300);
  script.release(before);
  script.at(200);
  script.release(within);
  script.allocate(4000);
  LedgerOptions options{.time_resolution_ns = 1};
  options.filter.from_ns = 50;
  options.filter.to_ns = 150;
  const Ledger ledger = replay(script, options);
  EXPECT_EQ(ledger.totals().allocations, 2u);
  EXPECT_EQ(ledger.totals().releases, 0u);
  EXPECT_EQ(ledger.totals().live_bytes, 320u);
}

TEST(Ledger, FollowsTheBlocksOfOneThread) {
  EventScript script;
  const auto mine = script.allocate(10, 2);
  script.allocate(100, 1);
  script.release(mine, 1);
  script.allocate(1000, 2);
  LedgerOptions options{};
  options.filter.thread = 2;
  const Ledger ledger = replay(script, options);
  EXPECT_EQ(ledger.totals().allocations, 2u);
  EXPECT_EQ(ledger.totals().releases, 1u);
  EXPECT_EQ(ledger.totals().live_bytes, 1000u);
}

TEST(Ledger, NamesAllThreadsOfAStack) {
  EventScript script;
  for (const uint32_t thread : {200u, 3u, 64u, 65u, 3u, 200u}) script.allocate(1, thread);
  EXPECT_EQ(replay(script).threads_of(0), (std::vector<model::ThreadId>{3, 64, 65, 200}));
}

TEST(Ledger, KeepsTheDirectoryShortWhenOneOldBlockSurvives) {
  EventScript script;
  Ledger ledger({});
  script.allocate(1);
  for (int round = 0; round < 300; ++round) {
    for (int count = 0; count < 20000; ++count) script.release(script.allocate(16));
    ledger.add(script.take(), script.tables);
  }
  EXPECT_EQ(ledger.live_blocks(), 1u);
  EXPECT_LT(ledger.block_memory_bytes(), 2u << 20);
}

// What all rows come to, by site.
std::map<model::SiteId, ActivityCounts> sums_of(const Activity& activity) {
  std::map<model::SiteId, ActivityCounts> sums;
  for (const ActivityRow& row : activity.rows()) sums[row.key.site] += row.counts;
  return sums;
}

TEST(Activity, CountsAReleaseForItsBlocksSiteThreadAndSizeWhenItHappens) {
  EventScript script;
  script.at(0);
  const auto block = script.allocate(100, 1, Function::kMalloc);
  script.at(5'000);
  script.release(block, 2);
  const Ledger ledger = replay(script, {.time_resolution_ns = 1000, .activity = true});
  const std::vector<ActivityRow> rows = ledger.activity()->rows();
  ASSERT_EQ(rows.size(), 2U);
  const ActivityKey key{script.site(EventKind::kAllocate, Function::kMalloc), 1, 7};
  EXPECT_EQ(rows[0].key, key);
  EXPECT_EQ(rows[1].key, key);
  EXPECT_EQ(rows[0].counts, (ActivityCounts{1, 100, 0, 0, 0}));
  EXPECT_EQ(rows[1].counts, (ActivityCounts{0, 0, 1, 100, 0}));
  EXPECT_EQ(rows[0].bin, 0U);
  EXPECT_EQ(rows[1].bin, 5U);
}

TEST(Activity, HasMemoryOfMappingsWithoutWhatIsReserved) {
  EventScript script;
  script.at(0);
  script.map(0x10000, 0x10000, kReservation);
  script.at(1'000);
  script.protect(0x11000, 0x3000, MappedAccess::kWrite);
  script.at(2'000);
  script.protect(0x11000, 0x1000, MappedAccess::kNone);
  script.at(3'000);
  script.unmap(0x12000, 0x1000);
  script.at(4'000);
  script.unmap(0, 0x100000);
  const Ledger ledger = replay(script, {.time_resolution_ns = 1000, .activity = true});
  const std::vector<ActivityRow> rows = ledger.activity()->rows();
  ASSERT_EQ(rows.size(), 5U);
  for (const ActivityRow& row : rows) EXPECT_EQ(row.key.size_class, 17) << "of the whole mapping";
  EXPECT_EQ(rows[0].counts, (ActivityCounts{1, 0, 0, 0, 0})) << "a call, without memory";
  EXPECT_EQ(rows[1].counts, (ActivityCounts{0, 0x3000, 0, 0, 0}));
  EXPECT_EQ(rows[2].counts, (ActivityCounts{0, 0, 0, 0x1000, 0}));
  EXPECT_EQ(rows[3].counts, (ActivityCounts{0, 0, 0, 0x1000, 0}));
  EXPECT_EQ(rows[4].counts.releases, 1U);
  EXPECT_EQ(rows[4].counts.released_bytes, 0x1000U);
}

TEST(Activity, TakesBackAReleaseThatDidNotHappen) {
  EventScript script;
  script.at(0);
  const auto block = script.allocate(100);
  script.release(block, 1, Function::kRealloc);
  std::vector<model::EventBatch> batches{script.take()};
  script.at(50'000);
  script.undo();
  batches.push_back(script.take());
  Ledger ledger({.time_resolution_ns = 1000, .activity = true});
  for (const model::EventBatch& batch : batches) ledger.add(batch, script.tables);
  const auto sums = sums_of(*ledger.activity());
  ASSERT_EQ(sums.size(), 1U);
  EXPECT_EQ(sums.begin()->second, (ActivityCounts{1, 100, 0, 0, 0}));
}

TEST(Activity, KeepsItsSumsWhileItsIntervalsGrow) {
  Activity activity(0, 10);
  std::mt19937 random(7);
  std::map<model::SiteId, ActivityCounts> expected;
  uint64_t now = 0;
  for (int i = 0; i < 20'000; ++i) {
    now += random() % 40;
    activity.advance(now);
    const auto below = [&](uint32_t limit) { return static_cast<uint32_t>(random() % limit); };
    const ActivityKey key{below(50), 1 + below(3), static_cast<uint8_t>(below(6))};
    activity.allocated(key, 1, 10);
    expected[key.site] += {1, 10, 0, 0, 0};
    if (random() % 2 == 0) {
      activity.released(key, 1, 10, true);
      expected[key.site] += {0, 0, 1, 10, 1};
    }
  }
  EXPECT_EQ(sums_of(activity), expected);
  EXPECT_LE(activity.bin_count(), Activity::kMaxBins);
  EXPECT_GT(activity.bin_count(), Activity::kMaxBins / 2 - 1);
  uint32_t bin = 0;
  for (const ActivityRow& row : activity.rows()) {
    EXPECT_GE(row.bin, bin);
    EXPECT_LT(row.bin, activity.bin_count());
    bin = row.bin;
  }
}

TEST(Activity, HasAClassForEachSize) {
  for (const uint64_t size :
       {uint64_t{0}, uint64_t{1}, uint64_t{2}, uint64_t{3}, uint64_t{4095}, uint64_t{4096}, ~uint64_t{0}}) {
    const size_t size_class = size_class_of(size);
    EXPECT_LE(lowest_of_class(size_class), size);
    EXPECT_GE(highest_of_class(size_class), size);
  }
}

TEST(LifetimeHistogram, PutsEveryLifetimeIntoTheClassThatHoldsIt) {
  for (const uint64_t resolution : {0, 1, 1000, 4096, 1'000'000}) {
    for (uint64_t lifetime = 0; lifetime < uint64_t{1} << 62; lifetime += lifetime / 2 + 1) {
      LifetimeHistogram histogram(resolution);
      histogram.add(lifetime, 1, 1);
      const LifetimeCount last = histogram.classes().back();
      EXPECT_EQ(last.blocks, 1u);
      EXPECT_GE(lifetime, last.lowest_ns);
      EXPECT_TRUE(last.limit_ns == 0 || lifetime < last.limit_ns) << lifetime << " " << last.limit_ns;
    }
  }
}

TEST(Timeline, KeepsPeaksAndSumsWhileItsIntervalsGrow) {
  Timeline timeline(0, 10);
  TimelineState state;
  uint64_t highest = 0;
  for (uint64_t time = 0; time < 1'000'000; time += 7) {
    timeline.advance(time, state);
    state.live_bytes = time % 9973;
    ++state.allocations;
    highest = std::max(highest, state.live_bytes);
    timeline.see(state.live_bytes);
  }
  const std::vector<TimelineBin> bins = timeline.bins(state);
  EXPECT_LE(bins.size(), Timeline::kMaxBins);
  EXPECT_GT(bins.size(), Timeline::kMaxBins / 4);
  uint64_t peak = 0;
  for (size_t index = 1; index < bins.size(); ++index) {
    EXPECT_GE(bins[index].at_end.allocations, bins[index - 1].at_end.allocations);
    peak = std::max(peak, bins[index].peak_live_bytes);
  }
  EXPECT_EQ(peak, highest);
  EXPECT_EQ(bins.back().at_end.allocations, state.allocations);
}

TEST(SizeTally, SumsClassesAndSizesToTheSameNumbers) {
  SizeTally sizes;
  std::mt19937 random(7);
  for (int round = 0; round < 200'000; ++round) sizes.allocated(random() % 4'000'000 >> random() % 20, 1);
  uint64_t exact = sizes.uncounted_allocations();
  uint64_t classes = 0;
  for (const auto& size : sizes.exact()) exact += size.count.allocations;
  for (const auto& size_class : sizes.classes()) classes += size_class.allocations;
  EXPECT_EQ(exact, 200'000u);
  EXPECT_EQ(classes, 200'000u);
}

// Random events over a few sites and threads; what the plain model says must be what the Ledger says.
class RandomEvents : public testing::TestWithParam<int> {
 protected:
  void generate(int events) {
    static constexpr Function kAllocators[] = {Function::kMalloc, Function::kCalloc, Function::kNew,
                                               Function::kNewArray};
    static constexpr Function kReleasers[] = {Function::kFree, Function::kDelete, Function::kDeleteArray,
                                              Function::kRealloc};
    std::vector<uint64_t> live;
    for (int count = 0; count < events; ++count) {
      if (below(50) == 0) script_.at(time_ += below(5000));
      const uint32_t thread = 1 + below(80);
      if (below(100) == 0) {
        script_.release(model::kUnknownBlock, thread);
      } else if (live.empty() || below(100) < grow_percent_) {
        live.push_back(script_.allocate(any_size(), thread, kAllocators[below(4)], below(8)));
      } else {
        const size_t pick = below(3) == 0 ? below(live.size()) : live.size() - 1;
        const Function function = kReleasers[below(4)];
        script_.release(live[pick], thread, function, below(3));
        if (function == Function::kRealloc && below(3) == 0) {
          interfere(thread);
          script_.undo(thread);
        } else {
          live.erase(live.begin() + static_cast<std::ptrdiff_t>(pick));
        }
      }
    }
  }

  uint32_t below(size_t limit) { return static_cast<uint32_t>(random_() % limit); }

  uint64_t any_size() {
    constexpr uint64_t kLarge = uint64_t{1} << 32;
    if (below(200) == 0) return kLarge - 2 + below(4);
    return below(10) == 0 ? below(100'000) : below(200);
  }

  // Another thread's events between a release and its undoing.
  void interfere(uint32_t thread) {
    const auto block = script_.allocate(below(100'000), thread % 80 + 1);
    script_.release(block, thread % 80 + 1);
  }

  void expect_same(const Ledger& ledger, const test::ReferenceLedger& plain, const LedgerOptions& options) const;

  std::mt19937 random_{static_cast<unsigned>(GetParam())};
  unsigned grow_percent_ = 40 + static_cast<unsigned>(GetParam()) % 25;
  uint64_t time_ = 0;
  EventScript script_;
};

void RandomEvents::expect_same(const Ledger& ledger, const test::ReferenceLedger& plain,
                               const LedgerOptions& options) const {
  EXPECT_EQ(ledger.totals().live_bytes, plain.live_bytes);
  EXPECT_EQ(ledger.totals().live_blocks(), plain.blocks.size());
  EXPECT_EQ(ledger.live_blocks(), plain.blocks.size());
  EXPECT_EQ(ledger.totals().peak_live_bytes, plain.peak_bytes);
  EXPECT_EQ(ledger.totals().peak_live_blocks, plain.peak_blocks);
  EXPECT_EQ(ledger.totals().temporary_allocations, plain.temporary);
  EXPECT_EQ(ledger.totals().mismatched_releases, plain.mismatched);
  EXPECT_EQ(ledger.totals().unknown_releases, plain.unknown);
  uint64_t peak_sum = 0;
  for (const auto& [site, expected] : plain.tallies) {
    const Tally& tally = ledger.tallies()[site];
    EXPECT_EQ(tally.allocations, expected.allocations);
    EXPECT_EQ(tally.releases, expected.releases);
    EXPECT_EQ(tally.allocated_bytes, expected.allocated_bytes);
    EXPECT_EQ(tally.live_bytes, expected.live_bytes);
    EXPECT_EQ(ledger.peak_bytes_of(site), expected.peak_bytes) << "site " << site;
    EXPECT_EQ(tally.temporary_allocations, expected.temporary);
    EXPECT_EQ(ledger.mismatched_releases_of(site), expected.mismatched);
    EXPECT_EQ(ledger.lifetime_ns_of(site), options.details ? expected.lifetime_ns : 0);
    const auto threads = ledger.threads_of(site);
    EXPECT_TRUE(std::equal(threads.begin(), threads.end(), expected.threads.begin(), expected.threads.end()));
    peak_sum += ledger.peak_bytes_of(site);
  }
  EXPECT_EQ(peak_sum, ledger.totals().peak_live_bytes);
  if (options.details) expect_times_of_blocks(ledger);
  std::map<uint64_t, uint64_t> left;
  ledger.for_each_block([&](uint64_t number, const Block& block) { left[number] = block.size_bytes; });
  ASSERT_EQ(left.size(), plain.blocks.size());
  for (const auto& [number, block] : plain.blocks) EXPECT_EQ(left.at(number), block.size_bytes);
  EXPECT_EQ(ledger.sizes().exact().empty(), !options.statistics);
  for (const auto& size : ledger.sizes().exact()) {
    EXPECT_EQ(size.count.allocations, plain.sizes.at(size.size_bytes).first);
    EXPECT_EQ(size.count.live_blocks, plain.sizes.at(size.size_bytes).second);
  }
}

TEST_P(RandomEvents, GiveWhatThePlainModelGives) {
  constexpr size_t kHalf = 3;  // batches: then the ledger is read, and goes on
  std::vector<model::EventBatch> batches;
  std::vector<test::ReferenceLedger::Timed> all;
  test::ReferenceLedger half;
  uint64_t now = 0;
  for (int batch = 0; batch < 6; ++batch) {
    generate(3000);
    const model::EventBatch events = script_.take();
    size_t mark = 0;
    for (uint32_t index = 0; index < events.events.size(); ++index) {
      while (mark < events.time_marks.size() && events.time_marks[mark].first_event <= index) {
        now = events.time_marks[mark++].time_ns;
      }
      all.push_back({events.events[index], now});
    }
    batches.push_back(events);
    if (batches.size() == kHalf) half.replay(all, script_.tables);
  }
  test::ReferenceLedger plain;
  plain.replay(all, script_.tables);
  for (const auto& [statistics, details] : {std::pair{true, true}, {false, true}, {false, false}}) {
    const LedgerOptions options{.time_resolution_ns = 100, .statistics = statistics, .details = details};
    Ledger ledger(options);
    for (size_t i = 0; i < batches.size(); ++i) {
      if (i == kHalf) expect_same(ledger, half, options);
      ledger.add(batches[i], script_.tables);
    }
    expect_same(ledger, plain, options);
  }
}

TEST_P(RandomEvents, LeadToThePeakAtOneOfThem) {
  generate(5000);
  const model::EventBatch events = script_.take();
  for (const auto& [statistics, details] : {std::pair{true, true}, {false, true}, {false, false}}) {
    LedgerOptions options{.time_resolution_ns = 100, .statistics = statistics, .details = details};
    Ledger whole(options);
    whole.add(events, script_.tables);
    const uint64_t peak_bytes = whole.totals().peak_live_bytes;
    ASSERT_NE(whole.peak_event(), 0u);
    options.filter.to_event = whole.peak_event();
    Ledger until(options);
    until.add(events, script_.tables);
    EXPECT_EQ(until.totals().live_bytes, peak_bytes);
    options.filter.to_event = whole.peak_event() - 1;
    Ledger before(options);
    before.add(events, script_.tables);
    EXPECT_LT(before.totals().peak_live_bytes, peak_bytes);
    EXPECT_EQ(whole.event_count(), events.events.size());
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomEvents, testing::Range(1, 25));

void allocate_in_pool(EventScript& script, uint32_t pool, uint64_t address, uint64_t size,
                      Function function = Function::kPoolAllocate) {
  script.batch.events.push_back(
      {script.site(EventKind::kPoolAllocate, function), 1, wire::make_pooled_size(pool, size), address});
}
void release_in_pool(EventScript& script, uint32_t pool, uint64_t address) {
  script.batch.events.push_back(
      {script.site(EventKind::kPoolRelease, Function::kPoolRelease), 1, wire::make_pooled_size(pool, 0), address});
}
void destroy_pool(EventScript& script, uint32_t pool) {
  script.batch.events.push_back(
      {script.site(EventKind::kPoolDestroy, Function::kPoolDestroy), 1, wire::make_pooled_size(pool, 0), 0});
}

TEST(LedgerOfPools, CountsThemApart) {
  EventScript script;
  script.allocate(4096);
  allocate_in_pool(script, 1, 0x100, 50);
  allocate_in_pool(script, 1, 0x200, 60);
  allocate_in_pool(script, 2, 0x100, 70);
  release_in_pool(script, 1, 0x100);
  release_in_pool(script, 1, 0x999);
  const Ledger ledger = replay(script);
  EXPECT_EQ(ledger.totals().live_bytes, 4096u);
  EXPECT_EQ(ledger.totals().allocations, 1u);
  EXPECT_EQ(ledger.totals().pool_allocations, 3u);
  EXPECT_EQ(ledger.totals().pool_live_blocks, 2u);
  EXPECT_EQ(ledger.totals().pool_live_bytes, 130u);
  EXPECT_EQ(ledger.totals().unknown_pool_releases, 1u);
  const Tally& tally = tally_of(ledger, script, EventKind::kPoolAllocate, Function::kPoolAllocate);
  EXPECT_EQ(tally.live_bytes, 130u);
  EXPECT_EQ(tally.allocations, 3u);
  EXPECT_EQ(tally.releases, 1u);
}

TEST(LedgerOfPools, APoolThatIsDestroyedHoldsNothing) {
  EventScript script;
  for (uint64_t address = 1; address <= 10; ++address) allocate_in_pool(script, 1, address, 100);
  allocate_in_pool(script, 2, 1, 7);
  destroy_pool(script, 1);
  destroy_pool(script, 5);
  const Ledger ledger = replay(script);
  EXPECT_EQ(ledger.totals().pool_live_blocks, 1u);
  EXPECT_EQ(ledger.totals().pool_live_bytes, 7u);
}

TEST(LedgerOfPools, KnowSinceWhenTheirBlocksLive) {
  EventScript script;
  script.at(1000);
  allocate_in_pool(script, 1, 0x100, 50);
  allocate_in_pool(script, 2, 0x100, 50);
  script.at(3000);
  allocate_in_pool(script, 1, 0x200, 60);
  allocate_in_pool(script, 1, 0x300, 60);
  script.at(9000);
  release_in_pool(script, 1, 0x200);
  destroy_pool(script, 2);
  const Ledger ledger = replay(script);
  EXPECT_EQ(ledger.live_since_of(script.site(EventKind::kPoolAllocate, Function::kPoolAllocate)).mean_ns(2), 2000u);
}

TEST(LedgerOfPools, ABlockInAnothersPlaceReleasesIt) {
  EventScript script;
  allocate_in_pool(script, 1, 0x100, 50);
  allocate_in_pool(script, 1, 0x100, 80);
  const Ledger ledger = replay(script);
  EXPECT_EQ(ledger.totals().pool_live_blocks, 1u);
  EXPECT_EQ(ledger.totals().pool_live_bytes, 80u);
}

TEST(LedgerOfPools, ResourcesAreNoBytes) {
  EventScript script;
  allocate_in_pool(script, 9, 3, 1, Function::kResourceOpen);
  allocate_in_pool(script, 9, 4, 1, Function::kResourceOpen);
  release_in_pool(script, 9, 3);
  const Ledger ledger = replay(script);
  EXPECT_EQ(ledger.totals().open_resources, 1u);
  EXPECT_EQ(ledger.totals().pool_live_blocks, 0u);
  EXPECT_EQ(ledger.totals().pool_live_bytes, 0u);
}

// What a window shows of a pool: what was allocated in it, and what left of before.
TEST(LedgerOfPools, WindowsAddUp) {
  EventScript script;
  allocate_in_pool(script, 1, 0x100, 50);
  allocate_in_pool(script, 1, 0x200, 60);
  release_in_pool(script, 1, 0x100);
  allocate_in_pool(script, 1, 0x300, 70);
  LedgerOptions options{.time_resolution_ns = 1000};
  options.filter.from_event = 2;
  const Ledger ledger = replay(script, options);
  EXPECT_EQ(ledger.totals().pool_live_bytes, 70u);
  EXPECT_EQ(ledger.totals().unknown_pool_releases, 0u);
  const model::SiteId site = script.site(EventKind::kPoolAllocate, Function::kPoolAllocate);
  EXPECT_EQ(ledger.older_releases_of(site).bytes, 50u);
}

constexpr uint64_t kInterval = 4096;

bool happens(double probability, std::mt19937_64& random) {
  return static_cast<double>(random() >> 11) * 0x1p-53 < probability;
}

// Of so many blocks of that size, those that a fixed sequence of chances chooses. Returns their numbers.
std::vector<model::BlockNumber> sample(EventScript& script, uint64_t size, int blocks, std::mt19937_64& random) {
  const double probability = 1 / model::SampleWeights(kInterval).weight_of(size);
  std::vector<model::BlockNumber> chosen;
  for (int i = 0; i < blocks; ++i) {
    if (happens(probability, random)) chosen.push_back(script.allocate(size));
  }
  return chosen;
}

TEST(Ledger, SampledBlocksStandForAllOfTheirSize) {
  for (const uint64_t size : {uint64_t{1}, uint64_t{48}, uint64_t{3000}, uint64_t{5000}, uint64_t{100'000}}) {
    constexpr int kBlocks = 400'000;
    EventScript script;
    std::mt19937_64 random(size);
    const auto samples = static_cast<double>(sample(script, size, kBlocks, random).size());
    const Ledger ledger = replay(script, {.time_resolution_ns = 1000, .sample_interval = kInterval});
    const double off = 5 * kBlocks / std::sqrt(samples);
    EXPECT_NEAR(static_cast<double>(ledger.totals().allocations), kBlocks, off) << size;
    EXPECT_EQ(ledger.totals().live_bytes, ledger.totals().allocations * size);
    EXPECT_EQ(ledger.totals().peak_live_bytes, ledger.totals().live_bytes);
  }
}

// A heap of 16,384 blocks, each replaced many times, of which some are recorded.
TEST(Ledger, ThePeakOfASteadyHeapIsWithinItsBounds) {
  constexpr uint64_t kSize = 64;
  constexpr size_t kBlocks = 16'384;
  constexpr uint64_t kTrue = kSize * kBlocks;
  int held = 0;
  constexpr int kSeeds = 40;
  for (int seed = 0; seed < kSeeds; ++seed) {
    EventScript script;
    std::mt19937_64 random(static_cast<uint64_t>(seed));
    const double probability = 1 / model::SampleWeights(16 * kInterval).weight_of(kSize);
    std::vector<model::BlockNumber> heap(kBlocks, model::kUnknownBlock);
    for (size_t i = 0; i < 100 * kBlocks; ++i) {
      model::BlockNumber& place = heap[i < kBlocks ? i : random() % kBlocks];
      if (place != model::kUnknownBlock) script.release(place);
      place = happens(probability, random) ? script.allocate(kSize) : model::kUnknownBlock;
    }
    const Ledger ledger = replay(script, {.time_resolution_ns = 1000, .sample_interval = 16 * kInterval});
    const Totals& totals = ledger.totals();
    const report::Bounds bounds =
        report::bounds_of_peak(totals.peak_live_bytes, totals.allocated_bytes, 16 * kInterval);
    held += bounds.low <= kTrue && kTrue <= bounds.high ? 1 : 0;
  }
  EXPECT_GE(held, kSeeds * 95 / 100);
}

TEST(Ledger, OfSampledBlocksNothingIsLeftWhenAllAreReleased) {
  EventScript script;
  std::mt19937_64 random(3);
  std::vector<model::BlockNumber> blocks;
  script.at(1'000'000);
  for (const uint64_t size : {uint64_t{16}, uint64_t{3000}, uint64_t{50'000}}) {
    const auto more = sample(script, size, 2000, random);
    blocks.insert(blocks.end(), more.begin(), more.end());
  }
  script.at(9'000'000);
  for (const model::BlockNumber block : blocks) {
    script.release(block, 1, Function::kRealloc);
    script.undo();
  }
  for (const model::BlockNumber block : blocks) script.release(block);
  const Ledger ledger = replay(script, {.time_resolution_ns = 1000, .activity = true, .sample_interval = kInterval});
  const Totals& totals = ledger.totals();
  EXPECT_GT(totals.allocations, 4000u);
  EXPECT_EQ(totals.releases, totals.allocations);
  EXPECT_EQ(totals.live_bytes, 0u);
  const model::SiteId site = script.site(EventKind::kAllocate, Function::kMalloc);
  EXPECT_EQ(ledger.live_since_of(site).mean_ns(1), 0u);
  EXPECT_EQ(ledger.lifetime_ns_of(site), 8'000'000 * totals.allocations);
  uint64_t allocated = 0;
  for (const SizeClassCount& each : ledger.sizes().classes()) {
    EXPECT_EQ(each.live_blocks, 0u);
    allocated += each.allocations;
  }
  EXPECT_EQ(allocated, totals.allocations);
  ActivityCounts sum;
  for (const ActivityRow& row : ledger.activity()->rows()) sum += row.counts;
  EXPECT_EQ(sum.releases, totals.allocations);
  EXPECT_EQ(sum.released_bytes, totals.allocated_bytes);
  EXPECT_TRUE(ledger.gaps().temporary && ledger.gaps().bad_releases);
}

}  // namespace
}  // namespace heaptap::ledger
