// From an agent's raw events to a trace's: releases named by number, bad releases, undo, order.
#include "record/ingest/event_coder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "capture/stream/mapped_stream.h"
#include "random_events.h"

namespace heaptap::ingest {
namespace {

using namespace trace::test;
using wire::RawEvent;
using wire::RecordKind;

class EventCoderTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kDisorder = 20'000;  // ticks: less than the coder waits for

  EventCoderTest() : codes_(16), nodes_(64), tables_(frames::empty_tables()) {
    for (size_t i = 0; i < codes_.size(); ++i) codes_[i].store(0x1000 + i);
    for (uint32_t i = 0; i < nodes_.size(); ++i)
      nodes_[i].store(i < 8 ? 0 : wire::make_node(i % 3 == 0 ? i - 1 : i % 8, i % 16));
    nodes_[8].store(wire::make_node(0, 8));
  }

  EventCoder make(bool from_start = true) { return {agent_, tables_, kResolutionNs, from_start}; }

  void add(RecordKind kind, uint64_t time, uint64_t address, uint64_t size = 0, uint32_t thread = 1, uint32_t stack = 8,
           Function function = Function::kNone) {
    if (function == Function::kNone) function = kind == RecordKind::kAllocate ? Function::kMalloc : Function::kFree;
    raw_.push_back(
        {time, wire::make_tagged_address(kind, static_cast<uint8_t>(function), address), size, stack, thread});
  }
  void allocate(uint64_t time, uint64_t address, uint64_t size = 16, uint32_t thread = 1) {
    add(RecordKind::kAllocate, time, address, size, thread);
  }
  void release(uint64_t time, uint64_t address, uint32_t thread = 1) {
    add(RecordKind::kRelease, time, address, 0, thread);
  }

  // Codes all there is, taking no more than `most` at a time.
  EventBatch code(EventCoder& coder, bool last = true, size_t most = SIZE_MAX) {
    EventBatch batch;
    while (const size_t taken = coder.take(raw_, clock_, std::max(most, most + batch.events.size()), last, batch)) {
      raw_.erase(raw_.begin(), raw_.begin() + static_cast<ptrdiff_t>(taken));
    }
    expect_sound(tables_);
    expect_sound(batch, tables_);
    return batch;
  }
  EventKind kind(const Event& event) const { return tables_.sites[event.site].kind; }

  std::vector<wire::CodeEntry> codes_;
  std::vector<wire::StackNode> nodes_;
  std::vector<wire::LabelEntry> labels_{8};
  stream::MappedTables agent_{codes_, nodes_, labels_};
  Tables tables_;
  std::vector<RawEvent> raw_;
  stream::ClockScale clock_{.start_ticks = 0, .ns_per_tick = 1};
};

TEST_F(EventCoderTest, AReleaseNamesItsAllocation) {
  allocate(1, 0xa0);
  allocate(2, 0xb0);
  release(3, 0xa0);
  allocate(4, 0xa0);
  release(5, 0xa0, 2);
  release(6, 0xb0);
  EventCoder coder = make();
  const EventBatch batch = code(coder);
  ASSERT_EQ(batch.events.size(), 6u);
  EXPECT_EQ(batch.first_block, 1u);
  EXPECT_EQ(batch.events[2].size_or_block, 1u);
  EXPECT_EQ(batch.events[4].size_or_block, 3u);
  EXPECT_EQ(batch.events[4].thread, 2u);
  EXPECT_EQ(batch.events[5].size_or_block, 2u);
  EXPECT_TRUE(batch.bad_releases.empty());
  EXPECT_EQ(coder.missed_releases(), 0u);
}

TEST_F(EventCoderTest, NumbersGoOnInTheNextBatch) {
  EventCoder coder = make();
  allocate(1, 0xa0);
  allocate(2, 0xb0);
  code(coder);
  release(3, 0xb0);
  allocate(4, 0xc0);
  const EventBatch batch = code(coder);
  EXPECT_EQ(batch.first_block, 3u);
  EXPECT_EQ(batch.events[0].size_or_block, 2u);
}

TEST_F(EventCoderTest, BadReleasesAreToldApart) {
  allocate(1, 0x1000, 100);
  release(2, 0x1000);
  release(3, 0x1000);  // again
  allocate(4, 0x2000, 100);
  release(5, 0x2040);  // into the middle
  release(6, 0x9000);  // never allocated
  release(7, 0x2000);
  EventCoder coder = make();
  const EventBatch batch = code(coder);
  ASSERT_EQ(batch.bad_releases.size(), 3u);
  const BadRelease& again = batch.bad_releases[0];
  EXPECT_EQ(again.event, 2u);
  EXPECT_EQ(again.kind, BadReleaseKind::kDouble);
  EXPECT_EQ(again.block_size, 100u);
  EXPECT_EQ(again.allocated_at, batch.events[0].site);
  EXPECT_EQ(again.first_released_at, batch.events[1].site);
  const BadRelease& interior = batch.bad_releases[1];
  EXPECT_EQ(interior.event, 4u);
  EXPECT_EQ(interior.kind, BadReleaseKind::kInterior);
  EXPECT_EQ(interior.allocated_at, batch.events[3].site);
  EXPECT_EQ(interior.address, 0x2040u);
  const BadRelease& never = batch.bad_releases[2];
  EXPECT_EQ(never.kind, BadReleaseKind::kNeverAllocated);
  EXPECT_FALSE(never.block_known);
  EXPECT_EQ(never.address, 0x9000u);
  EXPECT_EQ(batch.events[5].size_or_block, model::kUnknownBlock);
  EXPECT_EQ(batch.events[6].size_or_block, 2u) << "the block lives on";
}

TEST_F(EventCoderTest, AfterAnAttachAnUnknownBlockIsNoError) {
  release(1, 0x9000);
  EventCoder coder = make(false);
  const EventBatch batch = code(coder);
  ASSERT_EQ(batch.bad_releases.size(), 1u);
  EXPECT_EQ(batch.bad_releases[0].kind, BadReleaseKind::kUnknown);
}

TEST_F(EventCoderTest, AFailedReallocLeavesItsBlockAlive) {
  allocate(1, 0xa0);
  add(RecordKind::kRelease, 2, 0xa0, 0, 1, 8, Function::kRealloc);
  allocate(3, 0xb0, 16, 2);
  add(RecordKind::kUndo, 4, 0xa0, 0, 1, 8, Function::kRealloc);
  release(5, 0xa0);
  EventCoder coder = make();
  const EventBatch batch = code(coder);
  ASSERT_EQ(batch.events.size(), 5u);
  EXPECT_EQ(kind(batch.events[3]), EventKind::kUndo);
  EXPECT_EQ(batch.events[4].size_or_block, 1u);
  EXPECT_TRUE(batch.bad_releases.empty());
}

TEST_F(EventCoderTest, AnUndoWithoutAReleaseChangesNothing) {
  allocate(1, 0xa0);
  add(RecordKind::kUndo, 2, 0xa0, 0, 1, 8, Function::kRealloc);
  release(3, 0xa0);
  add(RecordKind::kUndo, 4, 0xb0, 0, 1, 8, Function::kRealloc);  // of another address
  add(RecordKind::kUndo, 5, 0xa0, 0, 2, 8, Function::kRealloc);  // of another thread
  release(6, 0xa0);
  EventCoder coder = make();
  const EventBatch batch = code(coder);
  ASSERT_EQ(batch.bad_releases.size(), 1u);
  EXPECT_EQ(batch.bad_releases[0].kind, BadReleaseKind::kDouble);
}

TEST_F(EventCoderTest, AReleaseThatComesALittleLateIsBroughtForward) {
  allocate(100, 0xa0, 16, 1);
  allocate(200, 0xa0, 32, 2);  // another processor's clock is a little behind
  allocate(210, 0xb0, 8, 2);
  release(200 + kDisorder, 0xa0, 1);
  EventCoder coder = make();
  const EventBatch batch = code(coder);
  ASSERT_EQ(batch.events.size(), 4u);
  EXPECT_EQ(kind(batch.events[1]), EventKind::kRelease);
  EXPECT_EQ(batch.events[1].size_or_block, 1u);
  EXPECT_EQ(batch.events[2].size_or_block, 32u);
  EXPECT_EQ(coder.missed_releases(), 0u);
}

TEST_F(EventCoderTest, WaitsForAReleaseThatMayStillCome) {
  EventCoder coder = make();
  allocate(100, 0xa0, 16, 1);
  allocate(200, 0xa0, 32, 2);
  EXPECT_EQ(code(coder, false).events.size(), 1u);
  EXPECT_EQ(raw_.size(), 1u);
  release(300, 0xa0, 1);
  const EventBatch batch = code(coder, false);
  ASSERT_EQ(batch.events.size(), 2u);
  EXPECT_EQ(kind(batch.events[0]), EventKind::kRelease);
  EXPECT_EQ(batch.events[0].size_or_block, 1u);
  EXPECT_EQ(coder.missed_releases(), 0u);
}

TEST_F(EventCoderTest, AReleaseThatNeverComesIsImpliedAndCounted) {
  for (const bool last : {false, true}) {
    raw_.clear();
    EventCoder coder = make();
    allocate(100, 0xa0);
    allocate(200, 0xa0);
    if (!last) allocate(1'000'000, 0xb0);  // so much later that it can't come any more
    const EventBatch batch = code(coder, last);
    ASSERT_GE(batch.events.size(), 3u);
    EXPECT_EQ(kind(batch.events[1]), EventKind::kRelease);
    EXPECT_EQ(batch.events[1].size_or_block, 1u);
    EXPECT_EQ(kind(batch.events[2]), EventKind::kAllocate);
    EXPECT_EQ(coder.missed_releases(), 1u);
    EXPECT_EQ(tables_.sites[batch.events[1].site].function, Function::kNone) << "nobody saw what released it";
  }
}

TEST_F(EventCoderTest, WhereEventsAreMissingNoReleaseIsABadOne) {
  EventCoder coder = make();
  coder.set_incomplete(true);
  allocate(1, 0xa0, 100);
  release(2, 0xa0);
  release(3, 0xa0);  // the allocation between them was lost
  release(4, 0x900);
  allocate(5, 0x1000, 100);
  release(6, 0x1010);  // that block's release was lost, and the allocation of another one
  const EventBatch batch = code(coder);
  ASSERT_EQ(batch.bad_releases.size(), 3u);
  for (const BadRelease& bad : batch.bad_releases) {
    EXPECT_EQ(bad.kind, BadReleaseKind::kUnknown);
    EXPECT_FALSE(bad.block_known);
  }
}

TEST_F(EventCoderTest, AReleaseThatDoesNotFitItsBlockWhereEventsAreMissingIsOfAnother) {
  allocate(1, 0xa0);  // its release was lost, and the operator new that got its address
  add(RecordKind::kRelease, 2, 0xa0, 0, 2, 8, Function::kDelete);
  release(3, 0xa0);
  EventCoder coder = make();
  coder.set_incomplete(true);
  const EventBatch batch = code(coder);
  ASSERT_EQ(batch.events.size(), 4u);
  EXPECT_EQ(batch.events[1].size_or_block, 1u) << "the block that was known there is gone";
  EXPECT_EQ(tables_.sites[batch.events[1].site].function, Function::kNone);
  EXPECT_EQ(batch.events[2].size_or_block, model::kUnknownBlock);
  EXPECT_EQ(tables_.sites[batch.events[2].site].function, Function::kDelete);
  EXPECT_EQ(batch.events[3].size_or_block, model::kUnknownBlock);
  ASSERT_EQ(batch.bad_releases.size(), 2u);
  EXPECT_EQ(batch.bad_releases[0].event, 2u);
  EXPECT_EQ(batch.bad_releases[0].kind, BadReleaseKind::kUnknown);
  EXPECT_EQ(batch.bad_releases[1].kind, BadReleaseKind::kUnknown);
  EXPECT_EQ(coder.missed_releases(), 0u);
}

TEST_F(EventCoderTest, AMismatchIsOneWhereAllIsSeen) {
  allocate(1, 0xa0);
  add(RecordKind::kRelease, 2, 0xa0, 0, 2, 8, Function::kDelete);
  EventCoder coder = make();
  const EventBatch batch = code(coder);
  ASSERT_EQ(batch.events.size(), 2u);
  EXPECT_EQ(batch.events[1].size_or_block, 1u);
  EXPECT_TRUE(batch.bad_releases.empty());
}

TEST_F(EventCoderTest, AfterAReleaseThatWasMissedNoReleaseIsABadOne) {
  EventCoder coder = make();
  allocate(1, 0xa0);
  allocate(100'000, 0xa0);
  release(200'000, 0xa0);
  release(200'001, 0xa0);
  release(200'002, 0x900);
  const EventBatch batch = code(coder);
  ASSERT_EQ(batch.bad_releases.size(), 2u);
  EXPECT_EQ(batch.bad_releases[0].kind, BadReleaseKind::kUnknown);
  EXPECT_EQ(batch.bad_releases[1].kind, BadReleaseKind::kUnknown);
}

TEST_F(EventCoderTest, StacksAndSitesGetTheTracesNumbersOnce) {
  nodes_[20].store(wire::make_node(0, 1));
  nodes_[21].store(wire::make_node(20, 2));
  nodes_[22].store(wire::make_node(0, 1));  // the same stacks again, as a race in the agent leaves them
  nodes_[23].store(wire::make_node(22, 2));
  add(RecordKind::kAllocate, 1, 0xa0, 1, 1, 21);
  add(RecordKind::kAllocate, 2, 0xb0, 1, 1, 23);
  add(RecordKind::kAllocate, 3, 0xc0, 1, 1, 21, Function::kCalloc);
  EventBatch first;
  EventCoder coder = make();
  coder.take(std::span(raw_).first(1), clock_, 1, false, first);  // doubles are also those of what came before
  raw_.erase(raw_.begin());
  coder.expect_doubles();
  EventBatch batch = code(coder);
  batch.events.insert(batch.events.begin(), first.events[0]);
  EXPECT_EQ(batch.events[0].site, batch.events[1].site);
  EXPECT_NE(batch.events[0].site, batch.events[2].site);
  const model::Site& site = tables_.sites[batch.events[0].site];
  EXPECT_EQ(tables_.sites[batch.events[2].site].stack, site.stack);
  EXPECT_EQ(tables_.codes[tables_.stacks[site.stack].code].address, codes_[2].load());
  const model::Stack& caller = tables_.stacks[tables_.stacks[site.stack].parent];
  EXPECT_EQ(tables_.codes[caller.code].address, codes_[1].load());
  EXPECT_EQ(caller.parent, 0u);
}

TEST_F(EventCoderTest, HostileNumbersOfStacksAndCodesEndInSoundTables) {
  nodes_[20].store(wire::make_node(20, 1));          // its own parent
  nodes_[21].store(wire::make_node(UINT32_MAX, 1));  // a parent outside the table
  nodes_[22].store(wire::make_node(30, 1));          // a parent that is younger
  nodes_[30].store(wire::make_node(22, 1));
  nodes_[23].store(wire::make_node(0, UINT32_MAX));  // a code outside the table
  uint64_t time = 1;
  for (const uint32_t stack : {20u, 21u, 22u, 30u, 23u, 63u, 64u, 100'000u, UINT32_MAX}) {
    add(RecordKind::kAllocate, time, time * 16, 1, 1, stack);
    ++time;
  }
  EventCoder coder = make();
  EXPECT_EQ(code(coder).events.size(), 9u);  // which checks the tables
}

TEST_F(EventCoderTest, RandomRawEventsGiveSoundBatches) {
  std::mt19937_64 random(16);
  for (int round = 0; round < 100; ++round) {
    for (wire::StackNode& node : nodes_) node.store(random() >> (random() % 64));
    for (wire::CodeEntry& entry : codes_) entry.store(random());
    raw_.clear();
    uint64_t time = 0;
    for (int i = 0; i < 300; ++i) {
      time += random() % 1000;
      const uint64_t what = wire::make_tagged_address(static_cast<RecordKind>(1 + random() % 5),
                                                      static_cast<uint8_t>(random() % 50), random() % 40 * 16);
      raw_.push_back({time, what, random() >> (random() % 64), static_cast<uint32_t>(random() >> (32 + random() % 32)),
                      static_cast<uint32_t>(random() >> (32 + random() % 32))});
    }
    EventCoder coder = make(round % 2 == 0);
    code(coder, true, 1 + random() % 100);
  }
}

TEST_F(EventCoderTest, TimesAreMarkedAtTheirResolution) {
  allocate(10'000, 0xa0);
  allocate(10'500, 0xb0);
  allocate(12'000, 0xc0);
  clock_ = {.start_ticks = 10'000, .ns_per_tick = 2};
  EventCoder coder = make();
  const EventBatch batch = code(coder);
  const std::vector<model::TimeMark> expected{{0, 0}, {1, 1000}, {2, 4000}};
  EXPECT_EQ(batch.time_marks, expected);
}

TEST_F(EventCoderTest, EveryBatchBeginsWithAMark) {
  EventCoder coder = make();
  allocate(5'000, 0xa0);
  code(coder);
  allocate(5'001, 0xb0);
  const EventBatch batch = code(coder);
  const std::vector<model::TimeMark> expected{{0, 5'000}};
  EXPECT_EQ(batch.time_marks, expected);
}

// The order of real threads: times that are only almost comparable. Against a plain model of who owns which address.
TEST_F(EventCoderTest, DisorderWithinTheBoundLeavesNoTrace) {
  std::mt19937_64 random(17);
  for (int round = 0; round < 50; ++round) {
    raw_.clear();
    std::map<uint64_t, bool> alive;
    uint64_t time = 0;
    size_t allocations = 0;
    for (int i = 0; i < 2000; ++i) {
      const uint64_t address = (1 + random() % 30) * 16;
      time += random() % 2000;
      const uint64_t skew = random() % kDisorder;  // this processor's clock
      if (alive[address]) {
        release(time + skew, address, static_cast<uint32_t>(1 + random() % 4));
      } else {
        allocate(time + skew, address, 1, static_cast<uint32_t>(1 + random() % 4));
        ++allocations;
      }
      alive[address] = !alive[address];
    }
    // Each address's own order can only be turned where an allocation overtakes the release before it.
    std::stable_sort(raw_.begin(), raw_.end(), [](const RawEvent& a, const RawEvent& b) {
      const auto key = [](const RawEvent& event) { return event.time; };
      return key(a) < key(b);
    });
    std::map<uint64_t, int> depth;
    bool releases_overtake = false;
    for (const RawEvent& event : raw_) {
      int& now = depth[event.address()];
      now += event.kind() == RecordKind::kAllocate ? 1 : -1;
      releases_overtake |= now < 0 || now > 2;
    }
    if (releases_overtake) continue;  // no clock shows a release before its own allocation
    EventCoder coder = make();
    const EventBatch batch = code(coder, true, 100);
    EXPECT_EQ(batch.events.size(), 2000u);
    EXPECT_TRUE(batch.bad_releases.empty());
    EXPECT_EQ(coder.missed_releases(), 0u);
    EXPECT_EQ(
        static_cast<size_t>(std::count_if(batch.events.begin(), batch.events.end(),
                                          [&](const Event& event) { return kind(event) == EventKind::kAllocate; })),
        allocations);
  }
}

// What the program calls what it allocates: nodes over those of stacks.
class LabelledEventsTest : public EventCoderTest {
 protected:
  void name(uint32_t number, uint32_t parent, wire::LabelKind kind, std::string_view text) {
    wire::LabelEntry& entry = labels_[number];
    entry.parent = parent;
    entry.kind = kind;
    entry.name_bytes = static_cast<uint8_t>(text.size());
    text.copy(entry.name, sizeof(entry.name));
    entry.is_whole.store(1);
  }
  void put_label(uint32_t node, uint32_t stack, uint32_t label) {
    nodes_[node].store(wire::make_node(stack, wire::kLabelCode | label));
  }
  const model::Site& site_of(const Event& event) const { return tables_.sites[event.site]; }
  std::string label_of(const Event& event) const { return tables_.labels[site_of(event).label].name; }
};

TEST_F(LabelledEventsTest, AStackUnderATagIsTheStackWithALabel) {
  name(1, 0, wire::LabelKind::kTag, "request");
  name(2, 1, wire::LabelKind::kTag, "parse");
  put_label(20, 8, 1);
  put_label(21, 8, 2);
  EventCoder coder = make();
  for (const uint32_t node : {8u, 20u, 21u, 20u})
    add(RecordKind::kAllocate, 1, uint64_t{0x1000} * node + raw_.size(), 16, 1, node);
  const EventBatch batch = code(coder);
  ASSERT_EQ(batch.events.size(), 4u);
  EXPECT_EQ(site_of(batch.events[0]).label, 0u);
  EXPECT_EQ(label_of(batch.events[1]), "request");
  EXPECT_EQ(label_of(batch.events[2]), "parse");
  EXPECT_EQ(tables_.labels[tables_.labels[site_of(batch.events[2]).label].parent].name, "request");
  EXPECT_EQ(batch.events[1].site, batch.events[3].site);
  for (const Event& event : batch.events) EXPECT_EQ(site_of(event).stack, site_of(batch.events[0]).stack);
}

TEST_F(LabelledEventsTest, NamesThatTheAgentHasTwiceAreOne) {
  name(1, 0, wire::LabelKind::kTag, "request");
  name(2, 0, wire::LabelKind::kTag, "request");
  name(3, 0, wire::LabelKind::kPool, "request");
  put_label(20, 8, 1);
  put_label(21, 8, 2);
  put_label(22, 8, 3);
  EventCoder coder = make();
  for (const uint32_t node : {20u, 21u, 22u}) add(RecordKind::kAllocate, 1, uint64_t{0x1000} * node, 16, 1, node);
  const EventBatch batch = code(coder);
  EXPECT_EQ(batch.events[0].site, batch.events[1].site);
  EXPECT_NE(batch.events[0].site, batch.events[2].site);
}

TEST_F(LabelledEventsTest, LabelsThatMakeNoSenseAreNone) {
  name(1, 1, wire::LabelKind::kTag, "its own parent");
  name(2, 3, wire::LabelKind::kTag, "before its parent");
  name(3, 0, static_cast<wire::LabelKind>(77), "of no kind");
  put_label(20, 8, 1);
  put_label(21, 8, 2);
  put_label(22, 8, 3);
  put_label(23, 8, 5);         // never written
  put_label(24, 8, 1u << 30);  // beyond the table
  put_label(25, 30, 0);        // on a stack behind it
  EventCoder coder = make();
  for (uint32_t node = 20; node <= 25; ++node) add(RecordKind::kAllocate, 1, uint64_t{0x1000} * node, 16, 1, node);
  const EventBatch batch = code(coder);
  ASSERT_EQ(batch.events.size(), 6u);
  for (const Event& event : batch.events) EXPECT_EQ(site_of(event).label, 0u);
}

TEST_F(EventCoderTest, WhatTheProgramSaysEndsABatch) {
  EventCoder coder = make();
  allocate(1, 0xa0);
  add(RecordKind::kNote, 2, 0xa0, 0, 3, 7, static_cast<Function>(wire::NoteKind::kBlockName));
  add(RecordKind::kNote, 3, 0, 0, 3, 8, static_cast<Function>(wire::NoteKind::kMark));
  allocate(4, 0xb0);
  EventBatch batch;
  EXPECT_EQ(coder.take(raw_, clock_, SIZE_MAX, true, batch), 2u);
  ASSERT_TRUE(coder.program_note());
  EXPECT_EQ(coder.program_note()->kind, wire::NoteKind::kBlockName);
  EXPECT_EQ(coder.program_note()->block, 1u);
  EXPECT_EQ(coder.program_note()->text, 7u);
  EXPECT_EQ(coder.program_note()->thread, 3u);
  EXPECT_EQ(coder.take(std::span(raw_).subspan(2), clock_, SIZE_MAX, true, batch), 1u);
  EXPECT_EQ(coder.program_note()->kind, wire::NoteKind::kMark);
  EXPECT_EQ(batch.events.size(), 1u);
  EXPECT_EQ(coder.take(std::span(raw_).subspan(3), clock_, SIZE_MAX, true, batch), 1u);
  EXPECT_FALSE(coder.program_note());
  EXPECT_EQ(batch.events.size(), 2u);
}

// The release of what was allocated meanwhile is no bad one.
TEST_F(EventCoderTest, NothingIsAccusedOnceTheProgramHasSwitchedOff) {
  EventCoder coder = make();
  release(1, 0x10);
  add(RecordKind::kNote, 2, 0, 0, 1, 0, static_cast<Function>(wire::NoteKind::kSwitchedOff));
  release(3, 0x20);
  const EventBatch batch = code(coder);
  ASSERT_EQ(batch.bad_releases.size(), 2u);
  EXPECT_EQ(batch.bad_releases[0].kind, BadReleaseKind::kNeverAllocated);
  EXPECT_EQ(batch.bad_releases[1].kind, BadReleaseKind::kUnknown);
}

constexpr auto kNoStack = static_cast<uint32_t>(wire::StackEnd::kNotUnwound);

TEST_F(EventCoderTest, WhileItIsOffWhatIsKnownEndsAndNothingElseDoes) {
  EventCoder coder = make();
  allocate(1, 0x10);
  allocate(2, 0x20);
  add(RecordKind::kMap, 3, 0x1000, 0x2000, 1, 8, Function::kMmap);
  add(RecordKind::kPoolAllocate, 4, 0x5000, wire::make_pooled_size(3, 64), 1, 8, Function::kPoolAllocate);
  add(RecordKind::kNote, 5, 0, 0, 1, 0, static_cast<Function>(wire::NoteKind::kSwitchedOff));
  add(RecordKind::kRelease, 6, 0x10, 0, 2, kNoStack);
  add(RecordKind::kRelease, 7, 0x10, 0, 2, kNoStack);  // of another block, which came there meanwhile
  add(RecordKind::kRelease, 8, 0x30, 0, 2, kNoStack);
  add(RecordKind::kUnmap, 9, 0x3000, 0x1000, 2, kNoStack, Function::kMunmap);
  add(RecordKind::kUnmap, 10, 0x2000, 0x1000, 2, kNoStack, Function::kMunmap);
  add(RecordKind::kPoolRelease, 11, 0x5040, wire::make_pooled_size(3, 0), 2, kNoStack, Function::kPoolRelease);
  add(RecordKind::kPoolRelease, 12, 0x5000, wire::make_pooled_size(3, 0), 2, kNoStack, Function::kPoolRelease);
  add(RecordKind::kPoolDestroy, 13, 0, wire::make_pooled_size(4, 0), 2, kNoStack, Function::kPoolDestroy);
  const EventBatch batch = code(coder);
  EXPECT_TRUE(batch.bad_releases.empty());
  ASSERT_EQ(batch.events.size(), 7u);
  EXPECT_EQ(batch.events[4].size_or_block, 1u);
  EXPECT_EQ(kind(batch.events[5]), EventKind::kUnmap);
  EXPECT_EQ(batch.events[5].address, 0x2000u);
  EXPECT_EQ(kind(batch.events[6]), EventKind::kPoolRelease);
  EXPECT_EQ(batch.events[6].address, 0x5000u);
}

TEST_F(EventCoderTest, AReallocThatFailsWhileItIsOffUndoesItsOwnReleaseAlone) {
  EventCoder coder = make();
  allocate(1, 0x10);
  allocate(2, 0x20);
  add(RecordKind::kRelease, 3, 0x10, 0, 1, 8, Function::kRealloc);
  add(RecordKind::kRelease, 4, 0x30, 0, 1, kNoStack, Function::kRealloc);
  add(RecordKind::kUndo, 5, 0x30, 0, 1, kNoStack, Function::kRealloc);
  add(RecordKind::kRelease, 6, 0x20, 0, 1, kNoStack, Function::kRealloc);
  add(RecordKind::kUndo, 7, 0x20, 0, 1, kNoStack, Function::kRealloc);
  const EventBatch batch = code(coder);
  EXPECT_TRUE(batch.bad_releases.empty());
  ASSERT_EQ(batch.events.size(), 5u);
  EXPECT_EQ(batch.events[3].size_or_block, 2u);
  EXPECT_EQ(kind(batch.events[4]), EventKind::kUndo);
  std::vector<uint64_t> live;
  coder.blocks().for_each_live([&](uint64_t address, const BlockMap::Block&) { live.push_back(address); });
  EXPECT_EQ(live, std::vector<uint64_t>{0x20});
}

TEST_F(EventCoderTest, BehindAPauseWhatIsKnownIsStillJudged) {
  EventCoder coder = make();
  allocate(1, 0x10);
  allocate(2, 0x20);
  add(RecordKind::kNote, 3, 0, 0, 1, 0, static_cast<Function>(wire::NoteKind::kSwitchedOff));
  add(RecordKind::kNote, 4, 0, 0, 1, 0, static_cast<Function>(wire::NoteKind::kSwitchedOn));
  release(5, 0x20);
  release(6, 0x20);  // perhaps of a block that came there meanwhile
  add(RecordKind::kRelease, 7, 0x10, 0, 1, 8, Function::kDelete);
  const EventBatch batch = code(coder);
  ASSERT_EQ(batch.events.size(), 5u);
  ASSERT_EQ(batch.bad_releases.size(), 1u);
  EXPECT_EQ(batch.bad_releases[0].kind, BadReleaseKind::kUnknown);
  EXPECT_EQ(batch.events[4].size_or_block, 1u) << "malloc's block, by delete";
}

TEST_F(EventCoderTest, BlocksOfPoolsAreEventsOfTheirOwn) {
  EventCoder coder = make();
  allocate(1, 0x1000, 4096);
  add(RecordKind::kPoolAllocate, 2, 0x1000, wire::make_pooled_size(3, 64), 1, 8, Function::kPoolAllocate);
  add(RecordKind::kPoolAllocate, 3, 0x1040, wire::make_pooled_size(3, 32), 1, 8, Function::kPoolAllocate);
  add(RecordKind::kPoolRelease, 4, 0x1000, wire::make_pooled_size(3, 0), 1, 8, Function::kPoolRelease);
  release(5, 0x1000);
  const EventBatch batch = code(coder);
  ASSERT_EQ(batch.events.size(), 5u);
  EXPECT_EQ(kind(batch.events[1]), EventKind::kPoolAllocate);
  EXPECT_EQ(batch.events[1].address, 0x1000u);
  EXPECT_EQ(wire::pool_of(batch.events[1].size_or_block), 3u);
  EXPECT_EQ(kind(batch.events[3]), EventKind::kPoolRelease);
  EXPECT_EQ(batch.events[4].size_or_block, 1u) << "malloc's block at the same address is another one";
  size_t pooled = 0;
  coder.pooled().for_each([&](uint64_t address, uint64_t pooled_size, model::SiteId /*site*/) {
    ++pooled;
    EXPECT_EQ(address, 0x1040u);
    EXPECT_EQ(wire::size_in_pool(pooled_size), 32u);
  });
  EXPECT_EQ(pooled, 1u);
}

}  // namespace
}  // namespace heaptap::ingest
