// The agent's core as it records several threads, with the collector's reader at the other end: what they did is what comes out.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <barrier>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>

#include "agent/core/recorder.h"
#include "agent/core/session.h"
#include "at_once.h"
#include "capture/log/log_reader.h"
#include "capture/stream/mapped_stream.h"
#include "common/frames/table_frames.h"
#include "core_platform.h"
#include "record/ingest/event_coder.h"

namespace heaptap {
namespace {

using agent::ThreadAnchor;
using wire::Function;

constexpr uint32_t kThreads = 4;

// What a hook hands on: where the return address is, and above that of the caller's frame pointer.
class Caller {
 public:
  explicit Caller(uint64_t address) : words_{0, address} {}
  [[nodiscard]] agent::CallSite site() const { return agent::CallSite(&words_[1]); }

 private:
  uintptr_t words_[2];
};
constexpr uint64_t caller_of(uint64_t number) { return 0x4000'0000 + number * 16; }

// The session of this process, which all tests of it share. Never destroyed: the agent unmaps what it has no use for of its mapping,
// which here is the collector's too; by then, others have memory there.
class Recording {
 public:
  static Recording& get() {
    static auto& recording = *new Recording;
    return recording;
  }
  [[nodiscard]] log::LogReader& reader() { return reader_; }
  [[nodiscard]] const log::LogParts& parts() const { return memory_->parts(); }

 private:
  static log::LogOptions options() {
    log::LogOptions options;
    options.chunk_memory_bytes = uint64_t{128} * wire::kChunkBytes;
    return options;
  }
  Recording() {
    test::give_log(*memory_);
    EXPECT_TRUE(agent::is_recording());
  }
  std::unique_ptr<log::LogMemory> memory_ = *log::LogMemory::create(options());
  log::LogReader reader_{memory_->parts()};
};

class RecordingThreadsTest : public ::testing::Test {
 protected:
  template <typename Body>
  log::RawEvents drain_beside(const Body& body) {
    log::LogReader& reader = recording_.reader();
    std::atomic<bool> ends{false};
    log::RawEvents events;
    std::jthread collector([&] {
      while (!ends.load()) reader.drain(events, false);
    });
    test::run_at_once(kThreads, body);
    ends.store(true);
    collector.join();
    do {
      reader.drain(events, true);
    } while (reader.has_unread() || !reader.is_empty());
    EXPECT_EQ(reader.damaged_streams(), 0u);
    EXPECT_EQ(reader.lost_events(), 0u);
    return events;
  }
  // The innermost frame of an event's stack.
  [[nodiscard]] uint64_t caller_in(uint32_t stack) const {
    const auto& parts = recording_.parts();
    return parts.codes[wire::node_code(parts.nodes[stack].load())].load();
  }

  Recording& recording_ = Recording::get();
};

TEST_F(RecordingThreadsTest, EachEventComesOnceWithItsCallerAndSize) {
  constexpr uint64_t kEach = 20'000;
  const log::RawEvents events = drain_beside([](uint32_t thread) {
    ThreadAnchor& anchor = agent::platform::thread_anchor();
    for (uint64_t number = 0; number < kEach; ++number) {
      const Caller caller(caller_of(number % 1500));
      agent::record_allocation(anchor, Function::kMalloc, uint64_t{thread + 1} << 32 | number, number, caller.site());
    }
  });
  std::array<uint64_t, kThreads> next{};
  ASSERT_EQ(events.size(), kThreads * kEach);
  for (const wire::RawEvent& event : events) {
    const uint64_t thread = (event.address() >> 32) - 1;
    ASSERT_LT(thread, kThreads);
    ASSERT_EQ(event.address() & UINT32_MAX, next[thread]);
    ASSERT_EQ(event.size_bytes, next[thread]);
    ASSERT_EQ(caller_in(event.stack), caller_of(next[thread] % 1500));
    ++next[thread];
  }
}

// Blocks go from thread to thread, and their addresses are used again by others.
TEST_F(RecordingThreadsTest, NoReleaseComesBeforeItsAllocation) {
  constexpr uint64_t kSteps = 20'000;
  constexpr uint32_t kPlaces = 24;
  constexpr uint64_t kBase = 0x7000'0000;
  std::array<std::atomic<uint64_t>, kPlaces> free_places{};
  std::array<std::atomic<uint64_t>, 8> blocks{};
  for (uint32_t i = 0; i < kPlaces; ++i) free_places[i].store(kBase + uint64_t{i} * 64);
  log::RawEvents events = drain_beside([&](uint32_t thread) {
    ThreadAnchor& anchor = agent::platform::thread_anchor();
    std::mt19937 random(thread);
    const Caller caller(caller_of(thread));
    const auto give_back = [&](uint64_t block) {
      agent::record_release(anchor, Function::kFree, block, caller.site());
      for (uint64_t place = block; place != 0;)
        place = free_places[random() % kPlaces].exchange(place, std::memory_order_acq_rel);
    };
    for (uint64_t step = 0; step < kSteps; ++step) {
      const uint64_t place = free_places[random() % kPlaces].exchange(0, std::memory_order_acq_rel);
      if (place != 0) {
        agent::record_allocation(anchor, Function::kMalloc, place, 64, caller.site());
        const uint64_t before = blocks[random() % blocks.size()].exchange(place, std::memory_order_acq_rel);
        if (before != 0) give_back(before);
      } else {
        const uint64_t block = blocks[random() % blocks.size()].exchange(0, std::memory_order_acq_rel);
        if (block != 0) give_back(block);
      }
    }
  });
  model::Tables tables = frames::empty_tables();
  const stream::MappedTables agent(recording_.parts().codes, recording_.parts().nodes);
  ingest::EventCoder coder(agent, tables, 1000, true);
  coder.expect_doubles();
  model::EventBatch batch;
  EXPECT_EQ(coder.take(events, {}, SIZE_MAX / 2, true, batch), events.size());
  EXPECT_TRUE(batch.bad_releases.empty());
  EXPECT_EQ(coder.missed_releases(), 0u);
  std::set<uint64_t> alive;
  for (const auto& block : blocks) alive.insert(block.load());
  alive.erase(0);
  std::set<uint64_t> live;
  coder.blocks().for_each_live([&](uint64_t address, const auto&) { live.insert(address); });
  EXPECT_EQ(live, alive);
}

// Many more threads than live at one time: the places of those that ended are used again, once they were drained. (None ends while
// another begins: what the kernel says of a thread's end is nothing that ThreadSanitizer hears.)
TEST_F(RecordingThreadsTest, ThreadsThatEndLeaveTheirPlacesToOthers) {
  constexpr uint32_t kRounds = 24;
  std::set<uint64_t> addresses;
  std::array<std::atomic<pid_t>, kThreads> ids{};
  for (uint32_t round = 0; round < kRounds; ++round) {
    std::barrier all_are_recorded(kThreads);
    const log::RawEvents events = drain_beside([&](uint32_t thread) {
      const Caller caller(caller_of(thread));
      const uint64_t address = uint64_t{round + 1} << 32 | thread;
      agent::record_allocation(agent::platform::thread_anchor(), Function::kMalloc, address, 1, caller.site());
      ids[thread] = gettid();
      all_are_recorded.arrive_and_wait();
    });
    // Who is joined is on its way out of the kernel still.
    for (const auto& id : ids) {
      while (access(("/proc/self/task/" + std::to_string(id)).c_str(), F_OK) == 0) std::this_thread::yield();
    }
    for (const wire::RawEvent& event : events) EXPECT_TRUE(addresses.insert(event.address()).second);
  }
  EXPECT_EQ(addresses.size(), kRounds * kThreads);
  EXPECT_LT(recording_.parts().header.slots_used.load(), kRounds * kThreads / 2);
}

}  // namespace
}  // namespace heaptap
