// One sequence of events, coded with any number of threads: always the same trace, and as much of it in the file as was promised.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <random>

#include "common/wire/functions.h"
#include "record/ingest/trace_builder.h"
#include "record/trace/frame_pool.h"
#include "record/trace/trace_reader.h"

namespace heaptap::ingest {
namespace {

using wire::Function;
using wire::RawEvent;
using wire::RecordKind;

constexpr uint64_t kResolutionNs = 1000;
constexpr size_t kFrameEvents = 262144;

// Stacks of two frames: any number of them.
class Tables final : public stream::AgentTables {
 public:
  [[nodiscard]] uint32_t node_count() const override { return kNodes; }
  [[nodiscard]] uint64_t node(uint32_t number) const override { return wire::make_node(number % 8, number % kCodes); }
  [[nodiscard]] uint32_t code_count() const override { return kCodes; }
  [[nodiscard]] uint64_t code(uint32_t index) const override { return 0x1000 + index; }
  [[nodiscard]] std::optional<model::Label> label(uint32_t /*number*/) const override { return std::nullopt; }

  static constexpr uint32_t kNodes = 4000;
  static constexpr uint32_t kCodes = 500;
};

// A log that is never empty until its end: random allocations and releases of three threads, with stacks that are new
// until late.
class Backlog final : public stream::EventStream {
 public:
  // `at_once`: events of a drain.
  explicit Backlog(uint64_t events, uint64_t at_once = 2000) : left_(events), at_once_(at_once) {}

  uint64_t drain(log::RawEvents& events, bool /*last*/) override {
    const uint64_t count = std::min<uint64_t>(left_, at_once_ + random_() % 100);
    for (uint64_t i = 0; i < count; ++i) events.push_back(next());
    left_ -= count;
    return count * sizeof(wire::Record);
  }
  [[nodiscard]] stream::StreamState state() const override {
    return {.complete_until = time_, .has_unread = left_ > 0, .is_empty = left_ == 0};
  }
  [[nodiscard]] uint64_t max_bytes_left() const override { return UINT64_MAX; }
  [[nodiscard]] const stream::AgentTables& tables() const override { return tables_; }
  void take_modules(std::vector<model::Module>& /*modules*/) override {}
  // A new one with every few drains.
  void take_threads(std::vector<model::Thread>& threads) override {
    for (; thread_count_ < made_ / 50'000; ++thread_count_)
      threads.push_back({thread_count_ + 1, thread_count_, "one"});
  }
  std::string take_text(uint32_t number) override {
    const std::string text = std::move(texts_.at(number));
    texts_.erase(number);
    return text;
  }

 private:
  RawEvent next() {
    time_ += 20 + random_() % 5;
    ++made_;
    const auto thread = static_cast<uint32_t>(1 + random_() % 3);
    const auto stack = static_cast<uint32_t>(8 + random_() % std::min<uint64_t>(8 + made_ / 200, Tables::kNodes - 8));
    if (made_ % 70'000 == 0) {
      const auto mark = static_cast<uint8_t>(wire::NoteKind::kMark);
      const auto number = static_cast<uint32_t>(made_);
      texts_[number] = "mark " + std::to_string(number);
      return {time_, wire::make_tagged_address(RecordKind::kNote, mark, 0), 0, number, thread};
    }
    if (!live_.empty() && (random_() % 2 == 0 || live_.size() > 20'000)) {
      const size_t which = random_() % live_.size();
      const uint64_t address = std::exchange(live_[which], live_.back());
      live_.pop_back();
      free_.push_back(address);
      return {time_, tagged(RecordKind::kRelease, Function::kFree, address), 0, stack, thread};
    }
    const bool is_new = free_.empty() || random_() % 8 == 0;
    const uint64_t address = is_new ? 0x7f0000000000 + 16 * ++addresses_ : free_.back();
    if (!is_new) free_.pop_back();
    live_.push_back(address);
    return {time_, tagged(RecordKind::kAllocate, Function::kMalloc, address), random_() % 5000, stack, thread};
  }
  static uint64_t tagged(RecordKind kind, Function function, uint64_t address) {
    return wire::make_tagged_address(kind, static_cast<uint8_t>(function), address);
  }

  Tables tables_;
  uint64_t left_;
  uint64_t at_once_;
  std::mt19937_64 random_{7};
  uint64_t time_ = 1000;
  uint64_t made_ = 0;
  uint64_t addresses_ = 0;
  uint32_t thread_count_ = 0;
  std::map<uint32_t, std::string> texts_;
  std::vector<uint64_t> live_;
  std::vector<uint64_t> free_;
};

class CollectorThreads : public ::testing::Test {
 protected:
  CollectorThreads() : path_(testing::TempDir() + "collector_threads_test." + std::to_string(getpid()) + ".htap") {
    capture_.command = {"./app"};
    capture_.time_resolution_ns = kResolutionNs;
    capture_.via = "agent";
  }
  ~CollectorThreads() override { std::filesystem::remove(path_); }

  trace::FramePool& begin(unsigned threads) {
    writer_.reset();
    pool_ = std::make_unique<trace::FramePool>(threads);
    writer_ = *trace::TraceWriter::create(path_, true);
    writer_->share_frames(pool_.get());
    EXPECT_TRUE(writer_->begin(capture_));
    return *pool_;
  }
  // The whole trace.
  std::string trace_of(uint64_t events, unsigned threads, uint64_t at_once = 2000) {
    const trace::FramePool& pool = begin(threads);
    Backlog log(events, at_once);
    TraceBuilder builder(log, *writer_, kResolutionNs, true);
    builder.drain_beside_coding();
    while (!log.state().is_empty) builder.take_next();
    builder.take_all();
    builder.write_frame();
    EXPECT_TRUE(builder.written());
    model::Capture capture = capture_;
    capture.ended = true;
    capture.event_count = builder.event_count();
    EXPECT_TRUE(writer_->finish(capture, builder.tables()));
    thread_count_ = pool.thread_count();
    return bytes();
  }
  [[nodiscard]] std::string bytes() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string path_;
  model::Capture capture_;
  std::unique_ptr<trace::FramePool> pool_;
  std::unique_ptr<trace::TraceWriter> writer_;
  size_t thread_count_ = 0;
};

TEST_F(CollectorThreads, TheTraceIsTheSameForAnyNumber) {
  constexpr uint64_t kEvents = 5 * kFrameEvents + 1000;
  const std::string alone = trace_of(kEvents, 1);
  EXPECT_EQ(thread_count_, 0u);
  for (const unsigned threads : {2u, 4u}) {
    EXPECT_TRUE(trace_of(kEvents, threads) == alone) << threads << " threads";
    EXPECT_GE(thread_count_, 1u);
    EXPECT_LT(thread_count_, threads);
  }
}

// Where drains are large, of many threads, one is made beside the coding of another.
TEST_F(CollectorThreads, TheTraceIsTheSameForAnyNumberWhereDrainsAreLarge) {
  constexpr uint64_t kEvents = 5 * kFrameEvents + 1000;
  constexpr uint64_t kAtOnce = 10'000;
  const std::string alone = trace_of(kEvents, 1, kAtOnce);
  for (const unsigned threads : {2u, 4u}) {
    EXPECT_TRUE(trace_of(kEvents, threads, kAtOnce) == alone) << threads << " threads";
    EXPECT_GE(thread_count_, 1u);
  }
}

TEST_F(CollectorThreads, ThereIsOneAsLongAsItKeepsUp) {
  EXPECT_FALSE(trace_of(kFrameEvents, 4).empty());
  EXPECT_EQ(thread_count_, 0u);
}

TEST_F(CollectorThreads, WhatIsWrittenIsInTheFile) {
  const trace::FramePool& pool = begin(3);
  constexpr uint64_t kEvents = 6 * kFrameEvents;
  Backlog log(kEvents);
  TraceBuilder builder(log, *writer_, kResolutionNs, true);
  while (builder.event_count() < 4 * kFrameEvents + 5000) builder.take_next();
  EXPECT_GE(pool.thread_count(), 1u);
  builder.write_frame();
  EXPECT_EQ(writer_->events_written(), builder.event_count());
  auto reader = trace::TraceReader::open(path_);
  ASSERT_TRUE(reader);
  struct Count : model::EventSink {
    void on_batch(const model::EventBatch& batch, const model::Tables& /*tables*/) override {
      count += batch.events.size();
    }
    uint64_t count = 0;
  } count;
  ASSERT_TRUE(reader->replay(count));
  EXPECT_EQ(count.count, builder.event_count());
}

// What a killed collector leaves: whole frames, in order.
TEST_F(CollectorThreads, AtEachMomentTheFileEndsWithAWholeFrame) {
  begin(4);
  Backlog log(8 * kFrameEvents);
  TraceBuilder builder(log, *writer_, kResolutionNs, true);
  uint64_t written = 0;
  for (unsigned step = 0; step < 60; ++step) {
    builder.take_next();
    EXPECT_GE(writer_->events_written(), written);
    written = writer_->events_written();
    EXPECT_LE(builder.event_count() - written, 6 * kFrameEvents) << "a few frames are in the making";
    EXPECT_EQ(writer_->bytes_written(), std::filesystem::file_size(path_));
  }
  EXPECT_TRUE(builder.written());
}

}  // namespace
}  // namespace heaptap::ingest
