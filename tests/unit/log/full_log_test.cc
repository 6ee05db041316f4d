// A log that is full, with the real agent in a real program, and a collector that does what the test says.
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>
#include <csignal>
#include <optional>
#include <vector>

#include "capture/launch/launch.h"
#include "capture/log/log_memory.h"
#include "capture/log/log_reader.h"
#include "capture/supervision/agent_server.h"

namespace heaptap::log {
namespace {

constexpr uint32_t kChunks = 64;
constexpr uint64_t kThreads = 10;
constexpr int kLongMs = 60'000;
constexpr uint64_t kPairsEach = 20'000;

class Outrun {
 public:
  explicit Outrun(uint32_t wait_ms) {
    log::LogOptions options;
    options.chunk_memory_bytes = uint64_t{kChunks} * wire::kChunkBytes;
    options.max_chunk_memory_bytes = 4 * options.chunk_memory_bytes;
    memory_ = *log::LogMemory::create(options);
    log().overflow_wait_ms = wait_ms;
    launch::LaunchOptions launched;
    launched.program = HEAPTAP_TEST_PROGRAM;
    launched.arguments = {"log_outrun", std::to_string(kPairsEach)};
    launched.agent_path = HEAPTAP_TEST_AGENT;
    launched.session = server_.session();
    program_ = *launch::launch(launched);
    auto request = next_request();
    if (request) server_.answer(std::move(request->connection), memory_.get());
  }
  ~Outrun() {
    kill(program_.process, SIGKILL);
    waitpid(program_.process, nullptr, 0);
  }
  Outrun(const Outrun&) = delete;
  Outrun& operator=(const Outrun&) = delete;

  [[nodiscard]] wire::LogHeader& log() const { return memory_->header(); }
  [[nodiscard]] const log::LogParts& parts() const { return memory_->parts(); }
  [[nodiscard]] bool ends_within(int milliseconds) const { return wait_for(program_.descriptor.get(), milliseconds); }

  // As if something had been given back. How many waited for it.
  [[nodiscard]] uint64_t move() const {
    log().chunks_returned.fetch_add(1);
    const long woken = syscall(SYS_futex, &log().chunks_returned, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
    return woken > 0 ? static_cast<uint64_t>(woken) : 0;
  }
  // Until all that can be waits has waited so often.
  [[nodiscard]] bool move_often(uint64_t waits) const {
    for (uint64_t seen = 0; seen < waits;) {
      if (ends_within(1)) return false;
      seen += move();
    }
    return true;
  }

  // The rest of the events, as a collector reads them.
  uint64_t drain() const {
    log::LogReader reader(memory_->parts());
    uint64_t count = 0;
    for (bool last = false;;) {
      log::RawEvents events;
      const bool read = reader.drain(events, last) > 0 || !events.empty();
      count += events.size();
      if (last && !read && reader.is_empty()) return count;
      last = last || ends_within(1);
    }
  }

 private:
  std::optional<supervision::AgentRequest> next_request() {
    for (;;) {
      if (auto request = server_.accept()) return request;
      std::vector<pollfd> waits;
      server_.add_waits(waits);
      if (poll(waits.data(), waits.size(), kLongMs) <= 0) return std::nullopt;
    }
  }
  static bool wait_for(int descriptor, int milliseconds) {
    pollfd news{descriptor, POLLIN, 0};
    return poll(&news, 1, milliseconds) > 0;
  }

  supervision::AgentServer server_ = *supervision::AgentServer::create();
  std::unique_ptr<log::LogMemory> memory_;
  launch::Launched program_;
};

TEST(FullLog, ASlowCollectorIsWaitedForAsLongAsItMoves) {
  const Outrun program(2000);
  ASSERT_TRUE(program.move_often(kThreads * 400));
  EXPECT_EQ(program.log().fresh_chunks.load(), kChunks);
  EXPECT_GE(program.drain(), 2 * kThreads * kPairsEach);
  EXPECT_EQ(program.log().lost_events.load(), 0u);
  EXPECT_EQ(program.log().waits_in_vain.load(), 0u);
}

TEST(FullLog, ACollectorThatStandsStillCostsABoundedWaitAndThenEvents) {
  const Outrun program(100);
  EXPECT_TRUE(program.ends_within(kLongMs));
  EXPECT_GE(program.log().waits_in_vain.load(), 1u);
  log::LogReader reader(program.parts());
  log::RawEvents events;
  reader.drain(events, false);
  EXPECT_GT(reader.lost_events(), 0u);
}

TEST(FullLog, IsUsedAsFarAsTheCollectorLetItGrow) {
  const Outrun program(2000);
  ASSERT_TRUE(program.move_often(kThreads));
  EXPECT_EQ(program.log().fresh_chunks.load(), kChunks);
  program.log().usable_chunks.store(3 * kChunks);
  while (program.log().fresh_chunks.load() < 3 * kChunks && !program.ends_within(1)) (void)program.move();
  EXPECT_EQ(program.log().fresh_chunks.load(), 3 * kChunks);
  program.log().usable_chunks.store(UINT32_MAX);  // more than there are
  EXPECT_GE(program.drain(), 2 * kThreads * kPairsEach);
  EXPECT_LE(program.log().fresh_chunks.load(), 4 * kChunks);
  EXPECT_EQ(program.log().lost_events.load(), 0u);
}

}  // namespace
}  // namespace heaptap::log
