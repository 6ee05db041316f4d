#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "capture/log/log_memory.h"
#include "capture/log/log_reader.h"
#include "common/arch/native.h"
#include "common/base/pages.h"
#include "scripted_log.h"

namespace heaptap::log {
namespace {

using test::options_of;
using Writer = test::ScriptedLog;

using wire::RawEvent;
using wire::RecordKind;

// Far enough back that a drain hands on at once what was written at that time.
constexpr uint64_t kLongAgoTicks = 1'000'000'000;

class LogReaderTest : public ::testing::Test {
 protected:
  LogReaderTest() : start_(arch::native::read_clock() - kLongAgoTicks) {}

  RawEvents drain(bool last = false) {
    RawEvents events;
    reader_.drain(events, last);
    return events;
  }
  // All that isn't held back, however fast one look follows another.
  RawEvents drain_until_settled() {
    constexpr uint64_t kSettledTicks = 1'000'000;
    RawEvents events;
    const uint64_t begin = arch::native::read_clock();
    while (arch::native::read_clock() < begin + kSettledTicks) reader_.drain(events, false);
    reader_.drain(events, false);
    return events;
  }
  // As a collector ends a recording: until nothing comes any more.
  RawEvents drain_to_the_end() { return drain_to_the_end(reader_); }
  static RawEvents drain_to_the_end(LogReader& reader, bool last = true) {
    RawEvents events;
    for (size_t i = 0, before = 1; i < 1000 && events.size() != before; ++i) {
      before = events.size();
      reader.drain(events, last);
    }
    return events;
  }
  static std::vector<uint64_t> addresses_of(const RawEvents& events) {
    std::vector<uint64_t> addresses;
    for (const RawEvent& event : events) addresses.push_back(event.address());
    return addresses;
  }

  uint64_t start_;
  Writer writer_;
  LogReader reader_{writer_.parts()};
};

using Addresses = std::vector<uint64_t>;

TEST(LogClock, CountsWhereTheProcessorsClockIsNotTrusted) {
  LogOptions options;
  options.flags = wire::kCountTime;
  const auto memory = *LogMemory::create(options);
  ASSERT_NE(memory, nullptr);
  LogClock clock(memory->header());
  const uint64_t first = clock.event_time();
  EXPECT_EQ(clock.event_time(), first + 1);
  constexpr uint64_t kAhead = 1'000'000'000'000;
  clock.raise(first + kAhead);
  EXPECT_EQ(clock.event_time(), first + kAhead + 1);
  clock.raise(first);  // is never lowered
  EXPECT_EQ(clock.event_time(), first + kAhead + 2);
}

TEST(LogClock, IsRaisedAtEachLook) {
  LogOptions options;
  options.flags = wire::kCountTime;
  const auto memory = *LogMemory::create(options);
  ASSERT_NE(memory, nullptr);
  LogReader reader(memory->parts());
  const LogClock clock(memory->header());
  const uint64_t before = clock.now();
  memory->header().coarse_clock.store(0);
  RawEvents events;
  constexpr uint64_t kMillisecond = 1'000'000;
  while (clock.now() < before + kMillisecond) reader.drain(events, false);
  reader.drain(events, false);
  EXPECT_GT(memory->header().coarse_clock.load(), before);
}

TEST_F(LogReaderTest, GivesRecordsAsTheyWereWritten) {
  const uint32_t stream = writer_.open(7, start_);
  writer_.allocate(stream, start_ + 5, 0x1000, 64, 99);
  writer_.release(stream, start_ + 9, 0x1000);
  const RawEvents events = drain();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].kind(), RecordKind::kAllocate);
  EXPECT_EQ(events[0].time, start_ + 5);
  EXPECT_EQ(events[0].address(), 0x1000u);
  EXPECT_EQ(events[0].size_bytes, 64u);
  EXPECT_EQ(events[0].stack, 99u);
  EXPECT_EQ(events[0].thread, 7u);
  EXPECT_EQ(events[0].function(), 1);
  EXPECT_EQ(events[1].kind(), RecordKind::kRelease);
  EXPECT_EQ(events[1].size_bytes, 0u);
  EXPECT_TRUE(drain().empty());
  const std::vector<StreamEnd> threads = reader_.take_new_threads();
  ASSERT_EQ(threads.size(), 1u);
  EXPECT_EQ(threads[0].thread_number, 7u);
  EXPECT_EQ(threads[0].thread_id, 1007u);
  EXPECT_TRUE(reader_.take_new_threads().empty());
}

TEST_F(LogReaderTest, PutsStreamsInTheOrderOfTime) {
  const uint32_t one = writer_.open(1, start_);
  const uint32_t two = writer_.open(2, start_ + 10);
  writer_.allocate(one, start_ + 20, 1);
  writer_.allocate(two, start_ + 30, 2);
  writer_.allocate(one, start_ + 40, 3);
  writer_.allocate(one, start_ + 50, 4);
  writer_.allocate(two, start_ + 60, 5);
  EXPECT_EQ(addresses_of(drain()), (Addresses{1, 2, 3, 4, 5}));
}

TEST_F(LogReaderTest, MergesAnyNumberOfStreamsInOrder) {
  std::mt19937 random(3);
  std::vector<uint32_t> streams;
  for (uint32_t i = 1; i <= 8; ++i) streams.push_back(writer_.open(i, start_));
  RawEvents events;
  uint64_t time = start_;
  for (uint64_t number = 1; number <= 5000; ++number) {
    writer_.allocate(streams[random() % streams.size()], time += 1 + random() % 100, number);
    if (number % 700 == 0) reader_.drain(events, false);
  }
  reader_.drain(events, false);
  ASSERT_EQ(events.size(), 5000u);
  for (size_t i = 0; i < events.size(); ++i) ASSERT_EQ(events[i].address(), i + 1);
}

// What a target wrote a moment before its end, which was too new to be handed on until then.
TEST_F(LogReaderTest, IsNotEmptyWhileTheLogHoldsMoreThanItTakesAtATime) {
  constexpr uint64_t kCount = 20'000;
  constexpr uint64_t kAheadTicks = 2'000'000'000;
  const uint64_t time = arch::native::read_clock() + kAheadTicks;
  const uint32_t stream = writer_.open(1, time);
  for (uint64_t number = 1; number <= kCount; ++number) writer_.allocate(stream, time + number, number);
  RawEvents events;
  reader_.drain(events, false);
  EXPECT_TRUE(events.empty());
  while (reader_.drain(events, true) > 0 || !reader_.is_empty()) {
  }
  EXPECT_EQ(events.size(), kCount);
}

TEST_F(LogReaderTest, HoldsBackWhatAnotherThreadMayStillPrecede) {
  constexpr uint64_t kHeldTicks = 100'000'000;    // surely held back for so long, by a thread that is in a hook
  const uint64_t begin = start_ + kLongAgoTicks;  // the reader came later
  const uint32_t idle = writer_.open(1, start_);
  const uint32_t busy = writer_.open(2, start_);
  writer_.allocate(busy, begin - 2'000'000, 1);
  wire::begin_activity(writer_.slot(busy));  // is making a record whose time may be as old as its last one's
  writer_.allocate(idle, begin - 1'000'000, 2);
  const std::vector<uint64_t> first = addresses_of(drain());
  if (arch::native::read_clock() > begin + kHeldTicks) GTEST_SKIP() << "this thread stood still itself";
  EXPECT_EQ(first, Addresses{1});
  writer_.allocate(busy, begin - 1'500'000, 3);
  wire::end_activity(writer_.slot(busy));
  EXPECT_EQ(addresses_of(drain_until_settled()), (Addresses{3, 2}));
}

TEST_F(LogReaderTest, DoesNotWaitForeverForAThreadThatStandsStill) {
  const uint32_t stopped = writer_.open(1, start_ - kLongAgoTicks);
  const uint32_t other = writer_.open(2, start_);
  wire::begin_activity(writer_.slot(stopped));
  writer_.allocate(other, start_, 1);
  EXPECT_EQ(addresses_of(drain()), Addresses{1});
}

TEST_F(LogReaderTest, AtTheEndGivesAllThatIsThere) {
  const uint32_t busy = writer_.open(1, start_);
  const uint32_t other = writer_.open(2, start_);
  wire::begin_activity(writer_.slot(busy));
  writer_.allocate(other, arch::native::read_clock() + kLongAgoTicks, 1);
  EXPECT_EQ(addresses_of(drain_to_the_end()), Addresses{1});
}

TEST_F(LogReaderTest, FollowsAStreamFromChunkToChunkAndGivesThemBack) {
  const uint32_t stream = writer_.open(1, start_);
  for (uint64_t number = 1; number <= 2000; ++number) writer_.allocate(stream, start_ + number, number);
  const uint32_t chunks = writer_.log().fresh_chunks.load();
  EXPECT_GT(chunks, 4u);
  const RawEvents events = drain();
  ASSERT_EQ(events.size(), 2000u);
  EXPECT_EQ(events.back().address(), 2000u);
  EXPECT_EQ(events.back().time, start_ + 2000);
  const auto free = writer_.free_chunks();
  ASSERT_TRUE(free);
  EXPECT_EQ(free->size(), chunks - 1);  // all but the one that is being written
  EXPECT_EQ(std::count(free->begin(), free->end(), writer_.current_chunk(stream)), 0);
  EXPECT_EQ(writer_.log().used_chunks.load(), 1u);
  EXPECT_EQ(writer_.log().chunks_returned.load(), 1u);
  EXPECT_EQ(reader_.max_chunks_used(), chunks);
}

TEST_F(LogReaderTest, GivesAllChunksBackBeforeItReadsThemWhereManyAreInUse) {
  constexpr uint64_t kMany = 15'000;  // 45 chunks of 64
  const uint32_t stream = writer_.open(1, start_);
  for (uint64_t number = 1; number <= kMany; ++number) writer_.allocate(stream, start_ + number, number);
  RawEvents events = drain();
  EXPECT_LT(events.size(), 4000u) << "a drain takes few";
  EXPECT_EQ(writer_.log().used_chunks.load(), 1u);
  EXPECT_TRUE(reader_.has_unread());
  for (uint64_t number = kMany + 1; number <= kMany + 1000; ++number) {
    writer_.allocate(stream, start_ + number, number);  // behind what was kept
  }
  uint64_t expected = 0;
  for (; !events.empty(); events = drain()) {
    for (const RawEvent& event : events) ASSERT_EQ(event.address(), ++expected);
  }
  EXPECT_EQ(expected, kMany + 1000);
  EXPECT_TRUE(reader_.is_empty());
  EXPECT_EQ(reader_.damaged_streams(), 0u);
}

TEST_F(LogReaderTest, IsToBeWokenAtRestWhenHalfAMegabyteMoreIsInUse) {
  EXPECT_EQ(writer_.log().wake_threshold.load(), wire::kNeverWake);
  writer_.log().used_chunks.store(3);
  reader_.rest();
  EXPECT_EQ(writer_.log().wake_threshold.load(), 3u + 64 / 4) << "or a quarter of a small log";
  reader_.wake_up();
  EXPECT_EQ(writer_.log().wake_threshold.load(), wire::kNeverWake);
}

TEST_F(LogReaderTest, ReadsAnEndedStreamToItsEndAndFreesItsSlot) {
  const uint32_t stream = writer_.open(1, start_);
  writer_.allocate(stream, start_, 1);
  writer_.slot(stream).lost_events.store(3);
  writer_.end(stream);
  EXPECT_EQ(addresses_of(drain()), Addresses{1});
  EXPECT_EQ(static_cast<wire::StreamState>(writer_.slot(stream).state.load()), wire::StreamState::kFree);
  EXPECT_EQ(writer_.log().used_chunks.load(), 0u);
  EXPECT_EQ(reader_.lost_events(), 3u);
  EXPECT_EQ(reader_.damaged_streams(), 0u);
}

TEST_F(LogReaderTest, TakesAnotherThreadsStreamInAFreedSlot) {
  const uint32_t first = writer_.open(1, start_);
  writer_.allocate(first, start_, 1);
  writer_.end(first);
  drain();
  const uint32_t second = writer_.open(2, start_);
  EXPECT_EQ(second, first);
  writer_.allocate(second, start_ + 1, 2);
  const RawEvents events = drain();
  EXPECT_EQ(addresses_of(events), Addresses{2});
  EXPECT_EQ(events[0].thread, 2u);
}

TEST_F(LogReaderTest, CountsLostEventsOfAllPlaces) {
  const uint32_t stream = writer_.open(1, start_);
  drain();
  writer_.log().lost_events.store(5);
  wire::begin_activity(writer_.slot(stream));
  writer_.slot(stream).lost_events.store(2);
  wire::end_activity(writer_.slot(stream));
  drain();
  EXPECT_EQ(reader_.lost_events(), 7u);
}

TEST_F(LogReaderTest, FindsWhatAQuietStreamGoesOnWith) {
  const uint32_t quiet = writer_.open(1, start_);
  const uint32_t other = writer_.open(2, start_);
  writer_.allocate(quiet, start_ + 1, 1);
  EXPECT_EQ(addresses_of(drain_until_settled()), Addresses{1});
  writer_.allocate(other, start_ + 2, 2);
  EXPECT_EQ(addresses_of(drain_until_settled()), Addresses{2});
  writer_.allocate(quiet, start_ + 3, 3);
  EXPECT_EQ(addresses_of(drain_until_settled()), Addresses{3});
  writer_.allocate(quiet, start_ + 4, 4);
  writer_.end(quiet);
  EXPECT_EQ(addresses_of(drain_until_settled()), Addresses{4});
  EXPECT_EQ(writer_.slot(quiet).state.load(), static_cast<uint32_t>(wire::StreamState::kFree));
}

// What it looks at in each round isn't more for threads that live and do nothing.
TEST_F(LogReaderTest, LeavesTheChunksOfQuietStreamsAlone) {
  const uint32_t quiet = writer_.open(1, start_);
  writer_.allocate(quiet, start_ + 1, 1);
  EXPECT_EQ(addresses_of(drain_until_settled()), Addresses{1});
  writer_.chunk(writer_.current_chunk(quiet)).committed.store(3);  // what isn't looked at isn't found to be wrong
  drain_until_settled();
  EXPECT_EQ(reader_.damaged_streams(), 0u);
  wire::begin_activity(writer_.slot(quiet));
  wire::end_activity(writer_.slot(quiet));
  drain_until_settled();
  EXPECT_EQ(reader_.damaged_streams(), 1u);
}

TEST_F(LogReaderTest, HandsOnWhatItHoldsWhateverTheSlotSaysByNow) {
  const uint32_t overwritten = writer_.open(1, start_);
  writer_.open(2, start_);
  writer_.allocate(overwritten, arch::native::read_clock() + kLongAgoTicks, 1);
  EXPECT_TRUE(drain().empty());
  writer_.slot(overwritten).state.store(static_cast<uint32_t>(wire::StreamState::kFree));
  EXPECT_EQ(addresses_of(drain_to_the_end()), Addresses{1});
}

TEST_F(LogReaderTest, TimesCountFromTheLatestClockNote) {
  const uint64_t base = start_ - (uint64_t{20} << 32);
  const uint32_t stream = writer_.open(1, base);
  writer_.allocate(stream, base, 1);
  writer_.allocate(stream, start_, 2);  // further from the base than a record can say
  writer_.allocate(stream, start_ + 5, 3);
  const RawEvents events = drain();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].time, base);
  EXPECT_EQ(events[1].time, start_);
  EXPECT_EQ(events[2].time, start_ + 5);
}

// Kinds of notes that come later than this reader.
TEST_F(LogReaderTest, ANoteOfAnotherKindIsNoTime) {
  constexpr auto kLaterKind = static_cast<wire::NoteKind>(9);
  const uint32_t stream = writer_.open(1, start_);
  writer_.allocate(stream, start_ + 5, 1);
  for (const std::vector<uint64_t>& words : {std::vector<uint64_t>{start_ + kLongAgoTicks}, {}, {1, 2, 3}}) {
    writer_.note(stream, kLaterKind, words);
  }
  writer_.allocate(stream, start_ + 6, 2);
  const RawEvents events = drain();
  ASSERT_EQ(addresses_of(events), (Addresses{1, 2}));
  EXPECT_EQ(events[1].time, start_ + 6);
  EXPECT_EQ(reader_.damaged_streams(), 0u);
}

TEST_F(LogReaderTest, TimesOfAStreamNeverGoBack) {
  const uint32_t stream = writer_.open(1, start_);
  writer_.allocate(stream, start_ + 10, 1);
  writer_.allocate(stream, start_ + 4, 2);
  const RawEvents events = drain();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_GE(events[1].time, events[0].time);
}

// More than the reader holds of a stream at a time, while another thread was ended in the middle of a hook.
class FullLogTest : public LogReaderTest {
 protected:
  static constexpr uint64_t kEvents = 200'000;
  Writer large_{16u << 20};
  LogReader large_reader_{large_.parts()};

  void fill() {
    const uint32_t stream = large_.open(1, start_);
    for (uint64_t number = 1; number <= kEvents; ++number) large_.allocate(stream, start_ + number, number);
  }
  size_t drain_large(bool last) { return drain_to_the_end(large_reader_, last).size(); }
};

TEST_F(FullLogTest, IsDrainedInBoundedSteps) {
  fill();
  RawEvents events;
  large_reader_.drain(events, false);
  EXPECT_LT(events.size(), kEvents);
  EXPECT_EQ(events.size() + drain_large(false), kEvents);
}

TEST_F(FullLogTest, IsDrainedToItsEnd) {
  fill();
  EXPECT_EQ(drain_large(true), kEvents);
}

TEST_F(FullLogTest, IsDrainedToItsEndBesideAThreadThatDiedInAHook) {
  wire::begin_activity(large_.slot(large_.open(2, start_ - 1)));
  fill();
  EXPECT_EQ(drain_large(true), kEvents);
}

TEST_F(FullLogTest, IsDrainedBesideAThreadThatStandsStillInAHook) {
  wire::begin_activity(large_.slot(large_.open(2, start_ - 1)));
  fill();
  EXPECT_EQ(drain_large(false), kEvents);
}

// Of the slower one some events are left at each drain: those that the other thread may still precede.
TEST_F(FullLogTest, IsHeldInLittleMemoryHoweverLongThreadsAreBusy) {
  constexpr uint64_t kOfEach = 250'000;
  const uint32_t fast = large_.open(1, start_);
  const uint32_t slow = large_.open(2, start_);
  for (uint64_t number = 1; number <= kOfEach; ++number) {
    large_.allocate(fast, start_ + number, number);
    large_.allocate(slow, start_ + 3 * number, number);
  }
  const auto in_use = [] {
    const struct mallinfo2 memory = mallinfo2();
    return memory.uordblks + memory.hblkhd;
  };
  RawEvents events;
  large_reader_.drain(events, false);
  const size_t before = in_use();
  size_t most = before;
  size_t count = events.size();
  for (size_t some = 1; some > 0; count += some) {
    events.clear();
    large_reader_.drain(events, false);
    some = events.size();
    most = std::max(most, in_use());
  }
  EXPECT_EQ(count, 2 * kOfEach);
  EXPECT_LT(most - before, size_t{1} << 19);
}

// What another process writes into the log is trusted in nothing.
class DamagedLogTest : public LogReaderTest {
 protected:
  DamagedLogTest() {
    damaged_ = writer_.open(1, start_);
    writer_.allocate(damaged_, start_ + 1, 1);
    sound_ = writer_.open(2, start_);
    writer_.allocate(sound_, start_ + 2, 2);
  }
  void expect_the_sound_stream_only() {
    const std::vector<uint64_t> addresses = addresses_of(drain_to_the_end());
    EXPECT_EQ(std::count(addresses.begin(), addresses.end(), 2u), 1);
    EXPECT_EQ(reader_.damaged_streams(), 1u);
    // It stays closed, and is counted once.
    writer_.allocate(sound_, start_ + 3, 3);
    EXPECT_EQ(addresses_of(drain_to_the_end()), Addresses{3});
    EXPECT_EQ(reader_.damaged_streams(), 1u);
  }

  uint32_t damaged_ = 0;
  uint32_t sound_ = 0;
};

TEST_F(DamagedLogTest, AFirstChunkOutsideTheLog) {
  writer_.slot(damaged_).first_chunk = writer_.log().chunk_count;
  drain_to_the_end();
  EXPECT_EQ(reader_.damaged_streams(), 1u);
}

TEST_F(DamagedLogTest, MoreCommittedThanAChunkHolds) {
  writer_.chunk(writer_.current_chunk(damaged_)).committed.store(wire::kChunkBytes + 1);
  expect_the_sound_stream_only();
}

TEST_F(DamagedLogTest, CommittedBytesGoBack) {
  drain();
  writer_.chunk(writer_.current_chunk(damaged_)).committed.store(sizeof(wire::ChunkHeader));
  wire::begin_activity(writer_.slot(damaged_));
  wire::end_activity(writer_.slot(damaged_));
  writer_.allocate(sound_, start_ + 2, 2);
  expect_the_sound_stream_only();
}

TEST_F(DamagedLogTest, LessCommittedThanTheHead) {
  writer_.chunk(writer_.current_chunk(damaged_)).committed.store(3);
  expect_the_sound_stream_only();
}

TEST_F(DamagedLogTest, ANextChunkOutsideTheLog) {
  writer_.chunk(writer_.current_chunk(damaged_)).next.store(writer_.log().chunk_count + 1);
  expect_the_sound_stream_only();
}

TEST_F(DamagedLogTest, AnUnknownKind) {
  const wire::Record record{0, 0, wire::make_tagged_address(static_cast<RecordKind>(200), 0, 0)};
  writer_.append(damaged_, &record, sizeof(record));
  expect_the_sound_stream_only();
}

TEST_F(DamagedLogTest, ARecordThatIsCutOff) {
  const wire::Record record{0, 0, wire::make_tagged_address(RecordKind::kAllocate, 1, 0)};
  writer_.append(damaged_, &record, sizeof(record));  // its size is missing
  expect_the_sound_stream_only();
}

TEST_F(DamagedLogTest, ANoteThatIsCutOff) {
  const wire::Record record{0, 4096, wire::make_tagged_address(RecordKind::kNote, 9, 0)};
  writer_.append(damaged_, &record, sizeof(record));
  expect_the_sound_stream_only();
}

TEST_F(DamagedLogTest, AClockNoteOfAnotherLength) {
  writer_.note(damaged_, wire::NoteKind::kClock, {1, 2});
  expect_the_sound_stream_only();
}

TEST_F(DamagedLogTest, ANoteOfAnOddLength) {
  struct {
    wire::Record head;
    uint64_t word;
  } const note{{0, 5, wire::make_tagged_address(RecordKind::kNote, 9, 0)}, 0};
  writer_.append(damaged_, &note, sizeof(note));
  expect_the_sound_stream_only();
}

TEST_F(DamagedLogTest, MoreSlotsUsedThanThereAre) {
  writer_.log().slots_used.store(UINT32_MAX);
  EXPECT_EQ(addresses_of(drain_to_the_end()), (Addresses{1, 2}));
}

TEST_F(DamagedLogTest, FewerSlotsUsedThanWereSeen) {
  RawEvents events;
  reader_.drain(events, false);
  writer_.log().slots_used.store(0);
  for (int i = 0; i < 10; ++i) reader_.drain(events, true);
  EXPECT_EQ(addresses_of(events), (Addresses{1, 2}));
}

TEST_F(DamagedLogTest, SizesInTheHeaderThatChangeLater) {
  writer_.log().slot_count = UINT32_MAX;
  writer_.log().chunk_count = UINT32_MAX;
  writer_.log().slots_offset = UINT64_MAX / 2;
  writer_.log().chunks_offset = UINT64_MAX / 2;
  RawEvents events;
  for (int i = 0; i < 10; ++i) reader_.drain(events, true);
  EXPECT_EQ(addresses_of(events), (Addresses{1, 2}));
}

TEST_F(DamagedLogTest, RandomBytesInChunksAndSlots) {
  std::mt19937 random(4);
  for (int round = 0; round < 300; ++round) {
    Writer writer;
    LogReader reader(writer.parts());
    std::vector<uint32_t> streams;
    for (uint32_t i = 1; i <= 4; ++i) streams.push_back(writer.open(i, start_));
    for (uint64_t number = 1; number <= 1500; ++number) {
      writer.allocate(streams[random() % streams.size()], start_ + number, number);
    }
    const uint32_t chunks = writer.log().fresh_chunks.load();
    RawEvents events;
    for (int damage = 0; damage < 4; ++damage) {
      const uint32_t chunk = static_cast<uint32_t>(random() % chunks);
      // Records, or the length; links have a test of their own.
      const size_t at = random() % 4 == 0 ? random() % 4 : sizeof(wire::ChunkHeader) + random() % 8000;
      writer.chunk_bytes(chunk)[at] = static_cast<uint8_t>(random());
      if (random() % 2 == 0) reader.drain(events, false);
    }
    EXPECT_LE(events.size() + drain_to_the_end(reader).size(), 4u * 1500);
    EXPECT_LE(reader.damaged_streams(), 4u);
    EXPECT_TRUE(writer.free_chunks());
  }
}

TEST_F(DamagedLogTest, ChunksThatFollowEachOtherInACircle) {
  writer_.next_chunk(damaged_);
  writer_.chunk(writer_.current_chunk(damaged_)).next.store(writer_.slot(damaged_).first_chunk + 1);
  RawEvents events;
  for (int i = 0; i < 10; ++i) reader_.drain(events, true);
  EXPECT_LT(events.size(), 100u);
  EXPECT_EQ(reader_.damaged_streams(), 1u);
}

// Each chunk that was read is linked to the other one at once, by somebody who has the memory.
TEST_F(DamagedLogTest, EmptyChunksThatAreLinkedAgainAndAgain) {
  writer_.next_chunk(damaged_);
  const uint32_t first = writer_.slot(damaged_).first_chunk;
  const uint32_t second = writer_.current_chunk(damaged_);
  std::atomic<bool> ends{false};
  std::thread linker([&] {
    while (!ends.load()) {
      writer_.chunk(first).next.store(second + 1);
      writer_.chunk(second).next.store(first + 1);
    }
  });
  RawEvents events;
  for (int i = 0; i < 100; ++i) reader_.drain(events, i % 2 == 0);
  ends.store(true);
  linker.join();
  EXPECT_LT(events.size(), 1000u);
}

TEST(LogMemory, PartsStayWhatTheyWereWhenTheHeaderIsOverwritten) {
  LogOptions options = options_of(1u << 20);
  options.totals_bytes = 2u << 20;
  const auto memory = *LogMemory::create(options);
  ASSERT_NE(memory, nullptr);
  const LogParts before = memory->parts();
  auto* const bytes = reinterpret_cast<uint8_t*>(&memory->header());
  const auto* const end = bytes + memory->bytes();
  std::memset(bytes, 0x41, 4096);
  const LogParts& now = memory->parts();
  EXPECT_EQ(now.slots.data(), before.slots.data());
  EXPECT_EQ(now.modules.size(), before.modules.size());
  EXPECT_EQ(now.chunk_count(), before.chunk_count());
  for (const uint8_t* part_end :
       {reinterpret_cast<const uint8_t*>(std::to_address(now.slots.end())), std::to_address(now.modules.end()),
        reinterpret_cast<const uint8_t*>(std::to_address(now.codes.end())),
        reinterpret_cast<const uint8_t*>(std::to_address(now.nodes.end())),
        reinterpret_cast<const uint8_t*>(std::to_address(now.stack_areas.end())),
        reinterpret_cast<const uint8_t*>(std::to_address(now.own_areas.end())),
        static_cast<const uint8_t*>(std::to_address(now.chunks.end())),
        reinterpret_cast<const uint8_t*>(std::to_address(now.totals.entries.end())),
        reinterpret_cast<const uint8_t*>(std::to_address(now.totals.lines.end()))}) {
    EXPECT_GT(part_end, bytes);
    EXPECT_LE(part_end, end);
  }
}

// tests/e2e/overwritten_log_test.py overwrites the parts by these.
TEST(LogMemory, HasItsFieldsWhereATestOverwritesThem) {
  EXPECT_EQ(offsetof(wire::LogLayout, slots_offset), 32u);
  EXPECT_EQ(offsetof(wire::LogLayout, own_areas_offset), 88u);
  EXPECT_EQ(offsetof(wire::LogLayout, totals_offset), 128u);
  EXPECT_EQ(sizeof(wire::LogHeader), 2240u);
}

TEST(LogMemory, KeepsItsSizeWhenOthersHaveTheDescriptor) {
  const auto memory = *LogMemory::create(options_of(1u << 20));
  ASSERT_NE(memory, nullptr);
  EXPECT_NE(ftruncate(memory->descriptor(), 4096), 0);
  EXPECT_NE(ftruncate(memory->descriptor(), static_cast<off_t>(2 * memory->bytes())), 0);
}

TEST(LogMemory, IsLaidOutWithoutOverlaps) {
  for (const uint64_t most : {UINT64_MAX, uint64_t{64} << 20, uint64_t{4} << 20}) {
    LogOptions options = options_of(64u << 20, most);
    options.late_rows_bytes = 8u << 20;
    const auto memory = *LogMemory::create(options);
    ASSERT_NE(memory, nullptr);
    const wire::LogHeader& log = memory->header();
    EXPECT_LE(log.total_bytes, most);
    EXPECT_GE(log.late_rows_offset, log.labels_offset + log.label_capacity * sizeof(wire::LabelEntry));
    EXPECT_GE(log.chunks_offset, log.late_rows_offset + log.late_rows_capacity);
    EXPECT_EQ(log.magic, wire::kLogMagic);
    EXPECT_EQ(log.total_bytes, memory->bytes());
    EXPECT_GE(log.slots_offset, sizeof(wire::LogHeader));
    EXPECT_GE(log.modules_offset, log.slots_offset + log.slot_count * sizeof(wire::StreamSlot));
    EXPECT_GE(log.codes_offset, log.modules_offset + log.modules_capacity);
    EXPECT_GE(log.stack_areas_offset, log.codes_offset + log.code_capacity * sizeof(wire::CodeEntry));
    EXPECT_GE(log.nodes_offset, log.chunks_offset + uint64_t{log.chunk_count} * wire::kChunkBytes);
    EXPECT_GE(log.total_bytes, log.nodes_offset + log.node_capacity * sizeof(wire::StackNode));
    EXPECT_EQ(log.nodes_offset % base::page_bytes(), 0u);
    EXPECT_EQ(log.start_nodes < log.node_capacity, most == UINT64_MAX)
        << "what is promised to the program isn't taken from it";
    EXPECT_EQ(log.usable_nodes.load(), log.start_nodes);
    EXPECT_EQ(log.slots_offset % alignof(wire::StreamSlot), 0u);
    EXPECT_EQ(log.node_count.load(), wire::kRootCount);
    EXPECT_EQ(static_cast<uint32_t>(log.free_chunks.load()), wire::kNoChunk);
  }
}

TEST(LogMemory, TakesOptions) {
  LogOptions options = options_of(1u << 20);
  options.depth_limit = 12;
  options.overflow_policy = wire::OverflowPolicy::kDrop;
  options.flags = wire::kNoCpp;
  options.omitted_objects = "libfoo\nlibbar";
  const auto memory = *LogMemory::create(options);
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(memory->header().depth_limit, 12u);
  EXPECT_EQ(memory->header().overflow_policy, wire::OverflowPolicy::kDrop);
  EXPECT_EQ(memory->header().flags, wire::kNoCpp);
  EXPECT_STREQ(memory->header().omitted_objects, "libfoo\nlibbar");
  EXPECT_EQ(memory->header().chunk_count, (1u << 20) / wire::kChunkBytes);
}

class GrowingLogTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kStart = 64;
  static constexpr uint32_t kMax = 200;

  static std::unique_ptr<LogMemory> make(wire::OverflowPolicy policy) {
    LogOptions options = options_of(uint64_t{kStart} * wire::kChunkBytes);
    options.max_chunk_memory_bytes = uint64_t{kMax} * wire::kChunkBytes;
    options.overflow_policy = policy;
    return *LogMemory::create(options);
  }
  void use(uint32_t chunks) { log().used_chunks.store(chunks); }
  [[nodiscard]] wire::LogHeader& log() const { return memory_->header(); }
  uint32_t usable_after_drain(LogReader& reader) {
    RawEvents events;
    reader.drain(events, false);
    EXPECT_EQ(log().usable_chunks.load(), reader.usable_chunks());
    return log().usable_chunks.load();
  }

  std::unique_ptr<LogMemory> memory_ = make(wire::OverflowPolicy::kWait);
};

// Lends what it has. Nothing is overdue before the test says so.
class Lender : public ChunkLender {
 public:
  Lender(uint32_t chunks, uint32_t at_first) : left(chunks), share_chunks(at_first) {}
  uint64_t lend(uint64_t bytes, bool for_threads) override {
    const auto lent = for_threads ? bytes / wire::kChunkBytes : std::min<uint64_t>(bytes / wire::kChunkBytes, left);
    left -= std::min<uint64_t>(left, lent);
    return lent * wire::kChunkBytes;
  }
  void take_back(uint64_t bytes) override { left += bytes / wire::kChunkBytes; }
  uint64_t share() override { return share_chunks * wire::kChunkBytes; }
  uint64_t overdue() override { return overdue_chunks * wire::kChunkBytes; }
  void note_lost(uint64_t events) override { lost = events; }
  bool permits(uint64_t bytes) override { return bytes <= node_bytes; }

  uint64_t left;
  uint64_t lost = 0;
  uint64_t share_chunks;
  uint64_t overdue_chunks = 0;
  uint64_t node_bytes = 0;
};

TEST_F(GrowingLogTest, GrowsByDoublesWhereWritersWouldSoonWait) {
  LogOptions options = options_of(uint64_t{2} * kStart * wire::kChunkBytes);
  options.max_chunk_memory_bytes = uint64_t{kMax} * wire::kChunkBytes;
  memory_ = *LogMemory::create(options);
  LogReader reader(memory_->parts());
  Lender lender(UINT32_MAX, kStart);
  reader.borrow_from(lender, ChunkMemory(memory_->parts().chunks, memory_->is_sparse()));
  EXPECT_EQ(log().chunk_count, kMax);
  use(kStart / 2);
  EXPECT_EQ(usable_after_drain(reader), kStart);
  use(kStart * 3 / 4);
  const uint32_t returned = log().chunks_returned.load();
  EXPECT_EQ(usable_after_drain(reader), 2 * kStart);
  EXPECT_EQ(log().chunks_returned.load(), returned + 1) << "who waits is told";
  EXPECT_EQ(usable_after_drain(reader), 2 * kStart);
  use(2 * kStart);
  EXPECT_EQ(usable_after_drain(reader), 2 * kStart) << "no further than was asked for";
}

TEST_F(GrowingLogTest, StaysAsItIsWhereEventsAreDropped) {
  memory_ = make(wire::OverflowPolicy::kDrop);
  LogReader reader(memory_->parts());
  use(kStart);
  EXPECT_EQ(usable_after_drain(reader), kStart);
}

TEST_F(GrowingLogTest, GrowsAsFarAsThereIsMemoryForIt) {
  LogReader reader(memory_->parts());
  Lender lender(kStart / 2 + 3, kStart / 2);
  reader.borrow_from(lender, ChunkMemory(memory_->parts().chunks, memory_->is_sparse()));
  EXPECT_EQ(log().usable_chunks.load(), kStart / 2);
  use(kStart / 2);
  EXPECT_EQ(usable_after_drain(reader), kStart / 2 + 3);
  use(kStart / 2 + 3);
  EXPECT_EQ(usable_after_drain(reader), kStart / 2 + 3);
  EXPECT_EQ(lender.left, 0u);
}

TEST_F(GrowingLogTest, GivesBackWhatIsOverdueAndFree) {
  LogReader reader(memory_->parts());
  Lender lender(kStart, kStart);
  reader.borrow_from(lender, ChunkMemory(memory_->parts().chunks, memory_->is_sparse()));
  wire::LogStreams<MappedLog> writers(log(), log());
  wire::LogStream stream{};
  ASSERT_TRUE(writers.begin(stream, {.id = 1001, .number = 1}, 0));
  lender.overdue_chunks = uint64_t{2} * kStart;
  RawEvents events;
  reader.drain(events, false);
  EXPECT_EQ(lender.left, kStart - reader.usable_chunks());
  EXPECT_LT(reader.usable_chunks(), 8u) << "but what its threads need";
  // What was given back comes again, and isn't mixed up.
  lender.overdue_chunks = 0;
  use(kStart);
  reader.drain(events, false);
  EXPECT_GT(reader.usable_chunks(), 4u);
  EXPECT_EQ(lender.left, kStart - reader.usable_chunks());
}

TEST_F(GrowingLogTest, BelievesItsOwnCopyOfHowFarItHasGrown) {
  LogReader reader(memory_->parts());
  Lender lender(kStart + 3, kStart / 2);
  reader.borrow_from(lender, ChunkMemory(memory_->parts().chunks, memory_->is_sparse()));
  log().usable_chunks.store(UINT32_MAX);
  log().start_chunks = UINT32_MAX;
  use(kStart);
  EXPECT_EQ(usable_after_drain(reader), kStart);
  use(UINT32_MAX);
  EXPECT_EQ(reader.usable_chunks(), kStart);
}

TEST_F(GrowingLogTest, HasAChunkForEachThreadAlsoWhereEventsAreDropped) {
  memory_ = make(wire::OverflowPolicy::kDrop);
  LogReader reader(memory_->parts());
  constexpr uint32_t kThreads = kStart * 3 / 4;
  wire::LogStreams<MappedLog> writers(log(), log());
  for (uint32_t i = 1; i <= kThreads; ++i) {
    wire::LogStream stream{};
    ASSERT_TRUE(writers.begin(stream, {.id = 1000 + i, .number = i}, 0));
  }
  EXPECT_EQ(usable_after_drain(reader), 2 * kStart);
}

TEST(LogMemory, DoesNotGrowWhereAddressSpaceIsLimited) {
  LogOptions options = options_of(1u << 20, uint64_t{256} << 20);
  options.max_chunk_memory_bytes = 16u << 20;
  const auto memory = *LogMemory::create(options);
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(memory->header().chunk_count, memory->header().start_chunks);
}

}  // namespace
}  // namespace heaptap::log
