// How a log is shared by its writers and its reader: by threads that write as the agent and the tracer do (common/wire/log_streams.h), and a
// collector that drains meanwhile.
#include "common/wire/log_streams.h"

#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <ctime>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "at_once.h"
#include "capture/log/log_memory.h"
#include "capture/log/log_reader.h"
#include "capture/log/mapped_log.h"

namespace heaptap::log {
namespace {

using wire::RecordKind;

constexpr uint32_t kThreads = 4;
constexpr uint32_t kChunks = 64;

// Threads of it go on by turns now and then where one of them has seen which chunk is next and not taken it yet.
class RestlessLog : public MappedLog {
 public:
  using MappedLog::MappedLog;
  [[nodiscard]] bool gets_chunk(uint32_t index) const {
    const bool gets = MappedLog::gets_chunk(index);
    if (index % 64 == 1) std::this_thread::yield();
    return gets;
  }
};

class LogStreamsTest : public ::testing::Test {
 protected:
  using Streams = wire::LogStreams<RestlessLog>;

  void make(const LogOptions& options) {
    memory_ = *LogMemory::create(options);
    ASSERT_NE(memory_, nullptr);
    reader_ = std::make_unique<LogReader>(memory_->parts());
    make_streams();
  }
  // A writer goes by the layout that it was given.
  void make_streams() { streams_ = std::make_unique<Streams>(log(), log()); }
  static LogOptions small() {
    LogOptions options;
    options.chunk_memory_bytes = uint64_t{kChunks} * wire::kChunkBytes;
    return options;
  }
  [[nodiscard]] wire::LogHeader& log() const { return memory_->header(); }

  // A stream of a thread of its own. False: there was no room.
  bool open(wire::LogStream& stream, uint32_t id) {
    const bool begun = streams_->begin(stream, {id, 0}, 0);
    if (begun) wire::end_activity(*stream.slot);
    return begun;
  }
  // `goes_on`: in another chunk, also where there is room.
  bool write(wire::LogStream& stream, uint64_t address, bool goes_on = false) {
    wire::begin_activity(*stream.slot);
    const bool has_room = (!goes_on && wire::has_room(stream)) || streams_->next_chunk(stream, 0);
    if (has_room) {
      const uint64_t tagged_address = wire::make_tagged_address(RecordKind::kAllocate, 1, address);
      wire::write_record(stream, streams_->log().time_in_order(), tagged_address, address, 0);
    }
    wire::end_activity(*stream.slot);
    return has_room;
  }

  [[nodiscard]] size_t index_of(const wire::LogStream& stream) const {
    return static_cast<size_t>(reinterpret_cast<uint8_t*>(stream.chunk) -
                               reinterpret_cast<uint8_t*>(&streams_->log().chunk(0))) /
           wire::kChunkBytes;
  }

  // Drains while threads write, and to the end behind that.
  template <typename Body>
  RawEvents drain_beside(const Body& body) {
    std::atomic<bool> ends{false};
    RawEvents events;
    std::jthread collector([&] {
      while (!ends.load()) reader_->drain(events, false);
    });
    test::run_at_once(kThreads, body);
    ends.store(true);
    collector.join();
    do {
      reader_->drain(events, true);
    } while (reader_->has_unread() || !reader_->is_empty());
    return events;
  }
  static uint64_t address_of(uint32_t thread, uint64_t number) { return uint64_t{thread + 1} << 32 | number; }
  // Each thread's events are all there, in the order in which they were written.
  static void expect_all(const RawEvents& events, uint64_t each) {
    std::vector<uint64_t> next(kThreads, 0);
    for (const wire::RawEvent& event : events) {
      const uint64_t thread = (event.address() >> 32) - 1;
      ASSERT_LT(thread, kThreads);
      ASSERT_EQ(event.address() & UINT32_MAX, next[thread]++) << "of thread " << thread;
      ASSERT_EQ(event.size_bytes, event.address());
    }
    for (const uint64_t count : next) EXPECT_EQ(count, each);
  }
  // All chunks that were ever used are free again, each once.
  void expect_all_free() const {
    EXPECT_EQ(log().used_chunks.load(), 0u);
    std::set<uint32_t> free;
    auto index = static_cast<uint32_t>(log().free_chunks.load());
    while (index != wire::kNoChunk && free.insert(index).second) {
      index = streams_->log().chunk(index).free_link.load();
    }
    EXPECT_EQ(index, wire::kNoChunk) << "the free chunks run in a circle";
    EXPECT_EQ(free.size(), log().fresh_chunks.load());
  }

  std::unique_ptr<LogMemory> memory_;
  std::unique_ptr<LogReader> reader_;
  std::unique_ptr<Streams> streams_;
};

// What of a few things each thread has at a time: nobody else has it.
class Belongings {
 public:
  explicit Belongings(size_t count) : taken_(count) {}
  void take(size_t index) { doubled_ += taken_[index].exchange(1) != 0 ? 1 : 0; }
  void give_back(size_t index) { taken_[index].store(0); }
  [[nodiscard]] uint32_t doubled() const { return doubled_.load(); }
  [[nodiscard]] size_t taken() const {
    return static_cast<size_t>(std::ranges::count_if(taken_, [](const auto& word) { return word.load() != 0; }));
  }

 private:
  std::vector<std::atomic<uint8_t>> taken_;
  std::atomic<uint32_t> doubled_{0};
};

// Else the table of slots would become the program's memory.
TEST_F(LogStreamsTest, WithoutAChunkNoSlotIsTouchedAndNoNumberGiven) {
  LogOptions options = small();
  options.overflow_policy = wire::OverflowPolicy::kDrop;
  make(options);
  wire::LogStream first{};
  ASSERT_TRUE(open(first, 1));
  while (write(first, 1, true)) continue;
  test::run_at_once(kThreads, [&](uint32_t thread) {
    for (int i = 0; i < 20'000; ++i) {
      wire::LogStream another{};
      ASSERT_FALSE(open(another, thread + 2));
      ASSERT_EQ(another.slot, nullptr);
    }
  });
  EXPECT_EQ(log().slots_used.load(), 1u);
  EXPECT_EQ(log().thread_count.load(), 1u);
}

TEST_F(LogStreamsTest, WithoutASlotTheChunkIsGivenBack) {
  LogOptions options = small();
  options.overflow_policy = wire::OverflowPolicy::kDrop;
  make(options);
  log().slot_count = 1;
  make_streams();
  wire::LogStream first{};
  ASSERT_TRUE(open(first, 1));
  test::run_at_once(kThreads, [&](uint32_t thread) {
    for (int i = 0; i < 20'000; ++i) {
      wire::LogStream another{};
      ASSERT_FALSE(open(another, thread + 2));
    }
  });
  EXPECT_EQ(log().used_chunks.load(), 1u);
  Streams::end(first);
  RawEvents events;
  reader_->drain(events, true);
  expect_all_free();
}

TEST_F(LogStreamsTest, NoTwoThreadsPopTheSameFreeChunk) {
  constexpr uint32_t kFew = 6;
  make(small());
  RestlessLog& mapped = streams_->log();
  for (uint32_t index = 0; index < kFew; ++index) wire::push_free_chunk(log(), mapped.chunk(index), index);
  Belongings chunks(kChunks);
  test::run_at_once(kThreads, [&](uint32_t) {
    for (int i = 0; i < 200'000; ++i) {
      const uint32_t one = wire::pop_free_chunk(mapped);
      const uint32_t other = wire::pop_free_chunk(mapped);
      for (const uint32_t index : {one, other}) {
        if (index != wire::kNoChunk) chunks.take(index);
      }
      for (const uint32_t index : {one, other}) {
        if (index == wire::kNoChunk) continue;
        chunks.give_back(index);
        wire::push_free_chunk(log(), mapped.chunk(index), index);
      }
    }
  });
  EXPECT_EQ(chunks.doubled(), 0u);
  uint32_t left = 0;
  while (left <= kFew && wire::pop_free_chunk(mapped) != wire::kNoChunk) ++left;
  EXPECT_EQ(left, kFew);
}

// Maps chunks when they are needed, as the agent does.
class PartlyMappedLog : public MappedLog {
 public:
  using MappedLog::MappedLog;
  [[nodiscard]] bool gets_chunk(uint32_t index) {
    if (MappedLog::gets_chunk(index)) mapped_ = std::max(mapped_, index + 1);
    return index < mapped_;
  }
  [[nodiscard]] uint32_t mapped() const { return mapped_; }

 private:
  uint32_t mapped_ = 1;
};

// The collector takes chunks out of the log that were never used, and gives them back as free ones: else writers would wait for chunks
// that are there.
TEST_F(LogStreamsTest, AFreeChunkThatWasNeverUsedIsMapped) {
  make(small());
  PartlyMappedLog mapped(log(), log());
  log().fresh_chunks.store(kChunks);
  wire::push_free_chunk(log(), mapped.chunk(7), 7);
  wire::push_free_chunk(log(), mapped.chunk(9), 9);
  EXPECT_EQ(wire::pop_free_chunk(mapped), 9u);
  EXPECT_EQ(mapped.mapped(), 10u);
  EXPECT_EQ(wire::pop_free_chunk(mapped), 7u);
  EXPECT_EQ(wire::pop_free_chunk(mapped), wire::kNoChunk);
  log().usable_chunks.store(20);
  wire::push_free_chunk(log(), mapped.chunk(20), 20);
  EXPECT_EQ(wire::pop_free_chunk(mapped), wire::kNoChunk) << "what the program wrote";
}

TEST_F(LogStreamsTest, NoTwoThreadsHaveTheSameSlot) {
  LogOptions options = small();
  options.overflow_policy = wire::OverflowPolicy::kDrop;
  make(options);
  log().slot_count = kThreads + 1;
  make_streams();
  Belongings slots(kThreads + 1);
  test::run_at_once(kThreads, [&](uint32_t) {
    for (int i = 0; i < 200'000; ++i) {
      wire::StreamSlot* const slot = streams_->claim_slot();
      if (slot == nullptr) continue;  // all were seen in use, each at its time
      const auto index = static_cast<size_t>(slot - &streams_->log().slot(0));
      slots.take(index);
      slots.give_back(index);
      Streams::set_free(*slot);
    }
  });
  EXPECT_EQ(slots.doubled(), 0u);
  EXPECT_LE(log().slots_used.load(), kThreads + 1);
}

TEST_F(LogStreamsTest, ANewChunkIsGivenOnce) {
  constexpr uint32_t kMany = 4096;
  LogOptions options;
  options.chunk_memory_bytes = uint64_t{kMany} * wire::kChunkBytes;
  options.overflow_policy = wire::OverflowPolicy::kDrop;
  make(options);
  Belongings chunks(kMany);
  std::vector<wire::LogStream> streams(kThreads);
  for (uint32_t thread = 0; thread < kThreads; ++thread) {
    ASSERT_TRUE(open(streams[thread], thread));
    chunks.take(index_of(streams[thread]));
  }
  test::run_at_once(kThreads, [&](uint32_t thread) {
    while (streams_->next_chunk(streams[thread], 1)) chunks.take(index_of(streams[thread]));
  });
  EXPECT_EQ(chunks.doubled(), 0u);
  EXPECT_EQ(chunks.taken(), kMany);
  EXPECT_EQ(log().used_chunks.load(), kMany);
}

// A chunk for each record: they go round between the threads and the collector as fast as can be.
TEST_F(LogStreamsTest, ChunksGoRoundAndNoneIsLostOrGivenTwice) {
  constexpr uint64_t kEach = 2000;
  make(small());
  const RawEvents events = drain_beside([this](uint32_t thread) {
    wire::LogStream stream{};
    ASSERT_TRUE(open(stream, thread));
    for (uint64_t number = 0; number < kEach; ++number) {
      ASSERT_TRUE(write(stream, address_of(thread, number), true));
    }
    Streams::end(stream);
  });
  expect_all(events, kEach);
  expect_all_free();
  EXPECT_EQ(reader_->damaged_streams(), 0u);
  EXPECT_EQ(log().waits_in_vain.load(), 0u);
}

TEST_F(LogStreamsTest, SlotsAreUsedAgainByStreamsThatComeAndGo) {
  constexpr uint64_t kEach = 500;
  make(small());
  const RawEvents events = drain_beside([this](uint32_t thread) {
    for (uint64_t number = 0; number < kEach; ++number) {
      wire::LogStream stream{};
      ASSERT_TRUE(open(stream, thread));
      ASSERT_TRUE(write(stream, address_of(thread, number)));
      Streams::end(stream);
    }
  });
  ASSERT_EQ(events.size(), kThreads * kEach);
  std::set<uint64_t> addresses;
  std::set<uint32_t> threads;
  for (const wire::RawEvent& event : events) {
    EXPECT_TRUE(addresses.insert(event.address()).second);
    EXPECT_TRUE(threads.insert(event.thread).second) << "each stream is one thread's";
  }
  expect_all_free();
  EXPECT_EQ(reader_->damaged_streams(), 0u);
}

TEST_F(LogStreamsTest, WhatIsDroppedIsCounted) {
  constexpr uint64_t kEach = 3000;
  LogOptions options = small();
  options.overflow_policy = wire::OverflowPolicy::kDrop;
  make(options);
  std::vector<wire::LogStream> streams(kThreads);
  for (uint32_t thread = 0; thread < kThreads; ++thread) ASSERT_TRUE(open(streams[thread], thread));
  std::atomic<uint64_t> dropped{0};
  const RawEvents events = drain_beside([&](uint32_t thread) {
    for (uint64_t number = 0; number < kEach; ++number) {
      dropped += write(streams[thread], address_of(thread, number), true) ? 0 : 1;
    }
    Streams::end(streams[thread]);
  });
  EXPECT_EQ(events.size() + dropped.load(), kThreads * kEach);
  EXPECT_EQ(reader_->lost_events(), dropped.load());
  expect_all_free();
}

// The collector gives nothing back: one wait runs out, and those after it don't wait again.
TEST_F(LogStreamsTest, AWaitInVainIsNotRepeated) {
  make(small());
  log().overflow_wait_ms = 30;
  make_streams();
  wire::LogStream stream{};
  ASSERT_TRUE(open(stream, 1));
  for (uint32_t i = 1; i < kChunks; ++i) ASSERT_TRUE(write(stream, i, true));
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(write(stream, kChunks, true));
  EXPECT_EQ(log().waits_in_vain.load(), 1u);
  EXPECT_EQ(stream.slot->lost_events.load(), 100u);
  RawEvents events;
  reader_->drain(events, true);
  EXPECT_TRUE(write(stream, kChunks, true)) << "something was given back";
}

TEST_F(LogStreamsTest, ALogThatFillsWakesTheCollectorOnceARest) {
  make(small());
  wire::LogStream stream{};
  ASSERT_TRUE(open(stream, 1));
  for (uint64_t i = 0; i < 10; ++i) ASSERT_TRUE(write(stream, i, true));
  EXPECT_EQ(log().rings.load(), 0u) << "the collector is awake";
  reader_->rest();
  long woken = -1;
  std::jthread collector([&] {
    const timespec limit{60, 0};
    woken = syscall(SYS_futex, &log().rings, FUTEX_WAIT, 0, &limit, nullptr, 0);
    if (woken != 0 && errno == EAGAIN) woken = 0;  // it rang before
  });
  for (uint64_t i = 0; i < kChunks / 2; ++i) ASSERT_TRUE(write(stream, i, true));
  collector.join();
  EXPECT_EQ(woken, 0);
  EXPECT_EQ(log().rings.load(), 1u);
  EXPECT_EQ(log().wake_threshold.load(), wire::kNeverWake);
}

// A clock note is put where a time is too far from the chunk's base, and only there.
TEST_F(LogStreamsTest, TimesThatAreFarApartAreKept) {
  make(small());
  wire::LogStream stream{};
  ASSERT_TRUE(open(stream, 1));
  const uint64_t base = stream.base_time;
  wire::begin_activity(*stream.slot);
  for (const uint64_t later : {uint64_t{0}, uint64_t{UINT32_MAX}, uint64_t{1} << 32, uint64_t{7} << 40}) {
    ASSERT_TRUE(wire::has_room(stream));
    wire::write_record(stream, base + later, wire::make_tagged_address(RecordKind::kRelease, 5, 16), 0, 0);
  }
  wire::end_activity(*stream.slot);
  EXPECT_EQ(stream.chunk->committed.load(),
            sizeof(wire::ChunkHeader) + 4 * sizeof(wire::Record) + 2 * sizeof(wire::ClockNote));
  RawEvents events;
  reader_->drain(events, true);
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[1].time - events[0].time, uint64_t{UINT32_MAX});
  EXPECT_EQ(events[2].time - events[0].time, uint64_t{1} << 32);
  EXPECT_EQ(events[3].time - events[0].time, uint64_t{7} << 40);
}

}  // namespace
}  // namespace heaptap::log
