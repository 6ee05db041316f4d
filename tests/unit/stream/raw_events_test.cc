// Events as bytes and back: what is guessed, what is told, and bytes that nobody wrote.
#include "capture/stream/raw_events.h"

#include <gtest/gtest.h>

#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace heaptap::stream {
namespace {

using wire::RawEvent;
using wire::RecordKind;

constexpr uint32_t kStacks = 5000;
constexpr unsigned kTableBits = 9;

RawEvent event(RecordKind kind, uint64_t address, uint64_t size = 0, uint32_t stack = 10, uint32_t thread = 1) {
  constexpr uint8_t kFunction = 3;
  return {.time = 0,
          .tagged_address = wire::make_tagged_address(kind, kFunction, address),
          .size_bytes = size,
          .stack = stack,
          .thread = thread};
}
RawEvent allocation(uint64_t address, uint64_t size, uint32_t stack = 10) {
  return event(RecordKind::kAllocate, address, size, stack);
}
RawEvent release(uint64_t address, uint32_t stack = 20) { return event(RecordKind::kRelease, address, 0, stack); }

bool is_same(const RawEvent& a, const RawEvent& b) {
  return a.time == b.time && a.tagged_address == b.tagged_address && a.size_bytes == b.size_bytes &&
         a.stack == b.stack && a.thread == b.thread;
}

// Both ends.
class Line {
 public:
  explicit Line(unsigned table_bits = kTableBits, unsigned shift = 0) : writer_(table_bits), reader_(table_bits) {
    writer_.set_time_shift(shift);
    reader_.set_time_shift(shift);
  }

  // How many bytes these take; they arrive as they are.
  size_t send(std::span<const RawEvent> events) {
    bytes_.clear();
    for (const RawEvent& event : events) writer_.add(event, event.stack, bytes_);
    writer_.finish(bytes_);
    received_.clear();
    wire::VarintReader in(bytes_.data(), bytes_.size());
    for (size_t i = 0; i < events.size(); ++i) {
      RawEvent received{};
      EXPECT_TRUE(reader_.next(in, kStacks, received)) << i;
      received_.push_back(received);
    }
    EXPECT_TRUE(in.at_end());
    EXPECT_TRUE(reader_.is_between_events());
    return bytes_.size();
  }
  size_t send_same(std::span<const RawEvent> events) {
    const size_t bytes = send(events);
    for (size_t i = 0; i < events.size(); ++i) EXPECT_TRUE(is_same(events[i], received_[i])) << i;
    return bytes;
  }
  [[nodiscard]] const std::vector<RawEvent>& received() const { return received_; }
  [[nodiscard]] std::vector<uint8_t> bytes() const { return {bytes_.data(), bytes_.data() + bytes_.size()}; }

 private:
  RawEventWriter writer_;
  RawEventReader reader_;
  frames::ByteBuffer bytes_;
  std::vector<RawEvent> received_;
};

// A pattern that goes on by `step` each round.
std::vector<RawEvent> moved(std::vector<RawEvent> events, uint64_t step) {
  for (RawEvent& each : events) each.tagged_address += step;
  return events;
}

class GuessTest : public testing::Test {
 protected:
  // Of the last of some rounds: what is guessed right is one byte for all.
  static size_t bytes_of_last(const std::vector<RawEvent>& round, uint64_t step) {
    constexpr unsigned kRounds = 12;
    Line line;
    size_t bytes = 0;
    for (unsigned i = 0; i < kRounds; ++i) bytes = line.send_same(moved(round, i * step));
    return bytes;
  }
};

TEST_F(GuessTest, ABlockThatWasReleasedIsAllocatedAgain) {
  const std::vector<RawEvent> round{allocation(0x1000, 40), allocation(0x2000, 40, 11), release(0x1000),
                                    release(0x2000, 21)};
  std::vector<RawEvent> swapped{allocation(0x2000, 40), allocation(0x1000, 40, 11), release(0x2000),
                                release(0x1000, 21)};
  Line line;
  size_t bytes = 0;
  for (unsigned i = 0; i < 12; ++i) bytes = line.send_same(i % 2 == 0 ? round : swapped);
  EXPECT_EQ(bytes, 1u);
}

TEST_F(GuessTest, BlocksFollowEachOther) {
  EXPECT_EQ(bytes_of_last({allocation(0x1000, 40), allocation(0x1030, 100, 11)}, 0xa0), 1u);
}

TEST_F(GuessTest, ABlockGrowsWhereItIs) {
  EXPECT_EQ(bytes_of_last({allocation(0x1000, 40), release(0x1000), allocation(0x1000, 4000, 12)}, 0x10000), 3u);
}

TEST_F(GuessTest, TheNewestBlockOfASiteIsReleased) {
  EXPECT_EQ(
      bytes_of_last({allocation(0x1000, 40), allocation(0x5000, 100, 11), release(0x1000), release(0x5000, 21)}, 0x300),
      5u);  // with two addresses that nothing tells
}

TEST_F(GuessTest, BlocksAreReleasedInTheOrderOfTheirAllocation) {
  std::vector<RawEvent> round;
  for (uint64_t i = 0; i < 50; ++i) round.push_back(allocation(0x1000 + i * 48, 40));
  for (uint64_t i = 0; i < 50; ++i) round.push_back(release(0x1000 + i * 48));
  EXPECT_LE(bytes_of_last(round, 0x100000), 20u);
}

TEST_F(GuessTest, WhatIsMappedAgainAndAgainIsAtItsPlace) {
  EXPECT_EQ(
      bytes_of_last(
          {event(RecordKind::kMap, 0x7f0000000000, 4096), event(RecordKind::kUnmap, 0x7f0000000000, 4096, 20)}, 0),
      1u);
}

TEST_F(GuessTest, SizesFollowEachOther) {
  std::vector<RawEvent> round;
  for (uint64_t i = 0; i < 20; ++i) {
    round.push_back(allocation(0x1000, 16 * i + 1000));
    round.push_back(release(0x1000));
  }
  EXPECT_LE(bytes_of_last(round, 0), 5u);
}

TEST_F(GuessTest, ManyEventsThatAreGuessedTakeAByte) {
  Line line;
  std::vector<RawEvent> events;
  for (unsigned i = 0; i < 6400; ++i) {
    events.push_back(i % 2 == 0 ? allocation(0x1000, 40) : release(0x1000));
  }
  line.send_same(events);
  EXPECT_EQ(line.send_same(events), 100u);
}

RawEvent any_event(std::mt19937_64& random) {
  static constexpr RecordKind kKinds[] = {RecordKind::kAllocate,    RecordKind::kRelease,    RecordKind::kUndo,
                                          RecordKind::kMap,         RecordKind::kUnmap,      RecordKind::kPoolAllocate,
                                          RecordKind::kPoolRelease, RecordKind::kPoolDestroy};
  const auto pick = [&random](uint64_t below) { return random() % below; };
  const RecordKind kind = kKinds[pick(4) == 0 ? pick(std::size(kKinds)) : pick(2)];
  const uint64_t address = pick(20) == 0 ? random() & wire::kCodeAddressMask : 0x10000 + pick(300) * 8;
  RawEvent made = event(kind, address, 0, static_cast<uint32_t>(pick(30) == 0 ? pick(kStacks) : pick(40)),
                        static_cast<uint32_t>(pick(10) == 0 ? pick(wire::kMaxThreads + 1) : pick(3)));
  made.tagged_address |= pick(8) << 48;
  made.time = 1'000'000 + pick(1000) - (pick(50) == 0 ? 5000 : 0);
  if (wire::record_bytes(kind) == sizeof(wire::SizedRecord)) made.size_bytes = pick(9) == 0 ? random() : pick(100);
  return made;
}

std::vector<RawEvent> any_events(unsigned count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<RawEvent> events;
  while (events.size() < count) events.push_back(any_event(random));
  return events;
}

TEST(RawEventsTest, WhatNobodyGuessesArrivesAsItIs) {
  for (const unsigned bits : {EventGuesses::kLeastTableBits, 9u, EventGuesses::kMaxTableBits}) {
    Line line(bits);
    for (uint64_t seed = 0; seed < 5; ++seed) line.send_same(any_events(3000, seed));
  }
}

TEST(RawEventsTest, TheExtremesOfEachNumberArrive) {
  std::vector<RawEvent> events{
      event(RecordKind::kAllocate, wire::kCodeAddressMask, UINT64_MAX, kStacks - 1, wire::kMaxThreads),
      event(RecordKind::kRelease, 0, 0, 0, 0), event(RecordKind::kAllocate, 0, 0, kStacks - 1, 0),
      event(RecordKind::kRelease, wire::kCodeAddressMask, 0, 1, wire::kMaxThreads)};
  events[0].time = UINT64_MAX;
  events[3].time = 1;
  Line line;
  line.send_same(events);
  line.send_same(events);
}

TEST(RawEventsTest, TimesAreRoundedDownToSteps) {
  constexpr unsigned kShift = 7;
  const std::vector<RawEvent> events = any_events(2000, 1);
  Line line(kTableBits, kShift);
  line.send(events);
  for (size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(line.received()[i].time, events[i].time >> kShift << kShift);
  }
}

TEST(RawEventsTest, WhatComesAgainIsGuessed) {
  const std::vector<RawEvent> events = any_events(500, 2);
  Line line;
  line.send_same(events);
  const std::vector<uint8_t> first = line.bytes();
  line.send_same(events);
  EXPECT_LT(line.bytes().size(), first.size());
}

TEST(RawEventsTest, WhatTheProgramSaysStandsAmongTheEvents) {
  RawEventWriter writer(kTableBits);
  RawEventReader reader(kTableBits);
  frames::ByteBuffer bytes;
  RawEvent note = event(RecordKind::kNote, 0x1000);
  note.tagged_address =
      wire::make_tagged_address(RecordKind::kNote, static_cast<uint8_t>(wire::NoteKind::kBlockName), 0x1000);
  note.time = 77;
  writer.add(allocation(0x1000, 40), 10, bytes);
  writer.add_note(note, "a name", bytes);
  writer.add_note(note, std::string(1000, 'x'), bytes);
  writer.finish(bytes);
  wire::VarintReader in(bytes.data(), bytes.size());
  RawEvent received{};
  ASSERT_TRUE(reader.next(in, kStacks, received));
  ASSERT_TRUE(reader.next(in, kStacks, received));
  EXPECT_EQ(received.tagged_address, note.tagged_address);
  EXPECT_EQ(received.time, 77u);
  EXPECT_EQ(received.thread, 1u);
  EXPECT_EQ(reader.text(), "a name");
  ASSERT_TRUE(reader.next(in, kStacks, received));
  EXPECT_EQ(reader.text(), std::string(wire::kMaxNoteTextBytes, 'x'));
  EXPECT_TRUE(in.at_end());
}

// Bytes that aren't what was written.
bool is_bounded(const RawEvent& event) {
  const bool is_said =
      event.kind() == RecordKind::kNote && wire::is_said_by_program(static_cast<wire::NoteKind>(event.function()));
  return (is_call(event.kind()) || is_said) && event.stack < kStacks && event.thread <= wire::kMaxThreads;
}

TEST(RawEventsTest, DamagedBytesAreRefusedOrGiveEventsWithinBounds) {
  Line line;
  line.send_same(any_events(300, 3));
  const std::vector<uint8_t> whole = line.bytes();
  std::mt19937_64 random(4);
  for (unsigned round = 0; round < 3000; ++round) {
    std::vector<uint8_t> bytes = whole;
    for (unsigned i = 0; i < 1 + round % 4; ++i) bytes[random() % bytes.size()] = static_cast<uint8_t>(random());
    RawEventReader reader(kTableBits);
    wire::VarintReader in(bytes.data(), bytes.size());
    RawEvent received{};
    unsigned count = 0;
    for (; count < 64 * bytes.size() && reader.next(in, kStacks, received); ++count) {
      ASSERT_TRUE(is_bounded(received));
    }
    EXPECT_LE(count, 64 * bytes.size());
  }
}

TEST(RawEventsTest, WhatNoneCanBeIsRefused) {
  const auto is_refused = [](std::vector<uint8_t> bytes) {
    RawEventReader reader(kTableBits);
    wire::VarintReader in(bytes.data(), bytes.size());
    RawEvent received{};
    return !reader.next(in, kStacks, received);
  };
  constexpr uint8_t kTold = 3 << 3;  // a site
  EXPECT_TRUE(is_refused({}));
  EXPECT_TRUE(is_refused({0}));                            // a guess where nothing was yet
  EXPECT_TRUE(is_refused({128}));                          // the same as a run
  EXPECT_TRUE(is_refused({227}));                          // none of the bytes that begin an event
  EXPECT_TRUE(is_refused({kTold, 1}));                     // a call that wasn't told
  EXPECT_TRUE(is_refused({kTold, 0, 0x80, 12, 0, 0}));     // a kind of calls that there is none of: 6 is a note's
  EXPECT_TRUE(is_refused({225, 0xff, 0xff, 0xff, 0xf}));   // a thread
  EXPECT_TRUE(is_refused({226, 1, 0, 0}));                 // a note that no program says
  EXPECT_TRUE(is_refused({226, 2, 0, 0xff, 0xff, 0}));     // a text that is longer than one may be
  EXPECT_TRUE(is_refused({kTold | 4, 0, 0x83, 4, 0, 5}));  // a block released that is none of those known
}

}  // namespace
}  // namespace heaptap::stream
