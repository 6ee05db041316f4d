// Who looks at what a log has, and leaves it there.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "capture/log/log_reader.h"
#include "scripted_log.h"

namespace heaptap::log {
namespace {

std::vector<uint64_t> addresses_of(const RawEvents& events) {
  std::vector<uint64_t> addresses;
  for (const wire::RawEvent& event : events) addresses.push_back(event.address());
  return addresses;
}

std::vector<uint64_t> looked_at(LogReader& reader) {
  RawEvents all;
  reader.look_ahead([&](const RawEvents& events) { all.insert(all.end(), events.begin(), events.end()); });
  return addresses_of(all);
}

// Until what was looked at has been handed on.
std::vector<uint64_t> drained_to_look(LogReader& reader) {
  constexpr int kMaxRounds = 1000;
  RawEvents events;
  for (int i = 0; i < kMaxRounds && reader.has_looked_ahead(); ++i) (void)reader.drain(events, false);
  return addresses_of(events);
}

std::vector<uint64_t> drained(LogReader& reader) {
  RawEvents events;
  while (reader.drain(events, true) > 0 || !reader.is_empty()) {
  }
  return addresses_of(events);
}

TEST(LookAhead, LeavesAllOfItInTheLog) {
  test::ScriptedLog log;
  LogReader reader(log.parts());
  const uint32_t one = log.open(1, 1), two = log.open(2, 1);
  log.allocate(one, 5, 0x10);
  log.allocate(two, 6, 0x20);
  log.allocate(one, 7, 0x30);
  const uint32_t used = log.log().used_chunks.load();

  EXPECT_EQ(looked_at(reader), (std::vector<uint64_t>{0x10, 0x20, 0x30}));

  EXPECT_EQ(log.log().used_chunks.load(), used);
  EXPECT_EQ(drained_to_look(reader), (std::vector<uint64_t>{0x10, 0x20, 0x30}));
}

TEST(LookAhead, NothingThatIsWrittenLaterComesBeforeIt) {
  test::ScriptedLog log;
  LogReader reader(log.parts());
  const uint32_t one = log.open(1, 1), two = log.open(2, 1);
  log.allocate(one, 50, 0x10);

  EXPECT_EQ(looked_at(reader), (std::vector<uint64_t>{0x10}));
  log.allocate(two, 5, 0x20);  // its time was read before the look
  log.allocate(one, 60, 0x30);
  const uint32_t three = log.open(3, 1);
  log.allocate(three, 6, 0x40);
  log.end(two);

  EXPECT_EQ(drained_to_look(reader), (std::vector<uint64_t>{0x10}));
  EXPECT_FALSE(reader.is_empty());
  EXPECT_EQ(drained(reader), (std::vector<uint64_t>{0x20, 0x40, 0x30}));
}

TEST(LookAhead, OfNothingIsPassedAtOnce) {
  test::ScriptedLog log;
  LogReader reader(log.parts());
  EXPECT_TRUE(looked_at(reader).empty());
  EXPECT_TRUE(drained_to_look(reader).empty());
  EXPECT_FALSE(reader.has_looked_ahead());
}

// Streams begin, go on and end at random, while some of it is drained.
TEST(LookAhead, IsWhatIsHandedOnNextWhateverWasThere) {
  constexpr int kLogs = 200;
  std::mt19937 random(7);
  const auto pick = [&](uint64_t below) { return random() % below; };
  for (int i = 0; i < kLogs; ++i) {
    test::ScriptedLog log(uint64_t{256} * wire::kChunkBytes);
    LogReader reader(log.parts());
    std::vector<uint32_t> streams;
    uint64_t time = 0, address = 0;
    uint32_t threads = 0;
    const auto write = [&](uint64_t events) {
      for (; events > 0; --events) {
        if (streams.empty() || pick(500) == 0) streams.push_back(log.open(++threads, 1));
        log.allocate(streams[pick(streams.size())], ++time, address += 16);
        if (streams.size() > 1 && pick(500) == 0) {
          std::swap(streams[pick(streams.size())], streams.back());
          log.end(streams.back());
          streams.pop_back();
        }
      }
    };
    RawEvents before;
    write(pick(8000));
    for (uint64_t rounds = pick(4); rounds > 0; --rounds) (void)reader.drain(before, false);
    write(pick(8000));
    if (pick(3) == 0) (void)looked_at(reader);  // the one before isn't passed yet

    const std::vector<uint64_t> seen = looked_at(reader);
    write(pick(3000));

    ASSERT_EQ(drained_to_look(reader), seen);
    ASSERT_EQ(before.size() + seen.size() + drained(reader).size(), address / 16);
  }
}

}  // namespace
}  // namespace heaptap::log
