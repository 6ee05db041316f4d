// Frames of events that other threads make: the same ones, in order, and bounded.
#include "record/trace/frame_pool.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "random_events.h"
#include "record/trace/trace_writer.h"

namespace heaptap::trace {
namespace {

using namespace test;

std::vector<uint8_t> bytes_of(const frames::ByteBuffer& buffer) {
  return {buffer.data(), buffer.data() + buffer.size()};
}
std::vector<uint8_t> bytes_of(const FramePool::Frame& frame) {
  return {frame.payload().begin(), frame.payload().end()};
}

TEST(SharedSites, AViewStaysAsItIsWhileTheTableGrows) {
  SharedSites shared;
  std::vector<model::Site> sites(1);
  std::vector<SiteView> views;
  for (uint32_t i = 0; i < 5000; ++i) {
    sites.push_back({EventKind::kAllocate, Function::kMalloc, i, 0});
    if (i % 100 == 0) views.push_back(shared.view(sites));
  }
  for (size_t i = 0; i < views.size(); ++i) {
    ASSERT_EQ(views[i].count, 100 * i + 2);
    EXPECT_EQ(views[i].sites[views[i].count - 1].stack, 100 * i);
  }
}

TEST(FramePool, OfOneThreadMakesNoFrame) {
  FramePool pool(1);
  EXPECT_EQ(pool.begin(), nullptr);
  EXPECT_EQ(pool.thread_count(), 0u);
}

TEST(FramePool, MakesWhatItsCallerWouldMake) {
  constexpr uint64_t kResolution = 1000;
  for (const unsigned threads : {2u, 4u}) {
    Maker maker(3);
    FramePool pool(threads);
    SharedSites sites;
    EventFrameWriter own(kEventLevel);
    std::vector<std::shared_ptr<FramePool::Frame>> frames;
    std::vector<std::vector<uint8_t>> expected;
    while (frames.size() < 40) {
      auto frame = pool.begin();
      if (frame == nullptr) {  // all are busy: one fewer then
        pool.wait_for(*frames.back());
        continue;
      }
      for (unsigned i = 0; i < 1 + frames.size() % 9; ++i) {
        EventBatch batch = maker.batch(500);
        own.add(batch, maker.tables().sites);
        pool.add(*frame, batch, sites.view(maker.tables().sites));
        EXPECT_TRUE(batch.events.empty() && batch.time_marks.empty() && batch.bad_releases.empty());
        maker.grow();
      }
      expected.push_back(bytes_of(own.finish(kResolution)));
      pool.end(*frame, kResolution);
      frames.push_back(std::move(frame));
    }
    for (size_t i = 0; i < frames.size(); ++i) {
      pool.wait_for(*frames[i]);
      EXPECT_TRUE(frames[i]->is_made());
      EXPECT_TRUE(bytes_of(*frames[i]) == expected[i]) << "frame " << i << " of " << threads << " threads";
    }
    EXPECT_GE(pool.thread_count(), 1u);
    EXPECT_LT(pool.thread_count(), threads);
  }
}

// Frames without an end hold no thread up, but count.
TEST(FramePool, BeginsNoMoreFramesThanItHasTimeFor) {
  Maker maker(4);
  FramePool pool(3);
  std::vector<std::shared_ptr<FramePool::Frame>> frames;
  while (auto frame = pool.begin()) frames.push_back(std::move(frame));
  EXPECT_EQ(frames.size(), 3u);
  EXPECT_EQ(pool.thread_count(), 2u);
  SharedSites sites;
  EventBatch batch = maker.batch(50);
  pool.add(*frames.back(), batch, sites.view(maker.tables().sites));
  pool.end(*frames.back(), 1);
  pool.wait_for(*frames.back());
  EXPECT_NE(pool.begin(), nullptr);
  EXPECT_EQ(pool.begin(), nullptr);
}

// More batches than may wait: their caller waits, and all are there in the end.
TEST(FramePool, TakesAnyNumberOfSmallBatches) {
  Maker maker(5);
  FramePool pool(2);
  SharedSites sites;
  EventFrameWriter own(kEventLevel);
  const auto frame = pool.begin();
  ASSERT_NE(frame, nullptr);
  for (unsigned i = 0; i < 2000; ++i) {
    EventBatch batch = maker.batch(2);
    own.add(batch, maker.tables().sites);
    pool.add(*frame, batch, sites.view(maker.tables().sites));
  }
  pool.end(*frame, 1);
  pool.wait_for(*frame);
  EXPECT_TRUE(bytes_of(*frame) == bytes_of(own.finish(1)));
}

TEST(FramePool, ForgetsAFrameThatNobodyWants) {
  Maker maker(6);
  FramePool pool(2);
  SharedSites sites;
  for (unsigned i = 0; i < 20; ++i) {
    const auto frame = pool.begin();
    ASSERT_NE(frame, nullptr);
    for (unsigned batches = 0; batches < i; ++batches) {
      EventBatch batch = maker.batch(100);
      pool.add(*frame, batch, sites.view(maker.tables().sites));
    }
    if (i % 2 == 0) pool.end(*frame, 1);
    pool.abandon(*frame);
    const auto next = pool.begin();
    ASSERT_NE(next, nullptr);
    EventBatch batch = maker.batch(10);
    EventFrameWriter own(kEventLevel);
    own.add(batch, maker.tables().sites);
    pool.add(*next, batch, sites.view(maker.tables().sites));
    pool.end(*next, 1);
    pool.wait_for(*next);
    EXPECT_TRUE(bytes_of(*next) == bytes_of(own.finish(1)));
  }
}

TEST(FramePool, MakesOneCallBesideItsCaller) {
  for (const unsigned threads : {1u, 2u}) {
    FramePool pool(threads);
    (void)pool.begin();
    pool.join();  // of nothing
    for (unsigned i = 0; i < 100; ++i) {
      unsigned made = 0;
      pool.start([&made] { ++made; });
      pool.join();
      pool.join();
      EXPECT_EQ(made, 1u);
    }
    pool.start([] { throw std::runtime_error("failed"); });
    EXPECT_THROW(pool.join(), std::runtime_error);
    pool.join();
  }
}

TEST(FramePool, ItsThreadsGetNoSignals) {
  FramePool pool(2);
  ASSERT_NE(pool.begin(), nullptr);
  bool found = false;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    // The name comes a moment after the thread: its mask is there from the start.
    if (task.path().filename() == std::to_string(getpid())) continue;
    std::ifstream status(task.path() / "status");
    for (std::string word; status >> word;) {
      if (word != "SigBlk:") continue;
      status >> word;
      const uint64_t mask = std::stoull(word, nullptr, 16);
      found |= (mask >> (SIGTERM - 1) & 1) != 0 && (mask >> (SIGINT - 1) & 1) != 0;
    }
  }
  EXPECT_TRUE(found);
}

// In a process of its own, of a user with a limit.
TEST(FramePool, WithoutThreadsItsCallerMakesAll) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    const rlimit none{.rlim_cur = 0, .rlim_max = 0};
    if (setrlimit(RLIMIT_NPROC, &none) != 0 || (geteuid() == 0 && setuid(kNobody) != 0)) _exit(2);
    FramePool pool(4);
    const bool has_none = pool.begin() == nullptr && pool.begin() == nullptr && pool.thread_count() == 0;
    _exit(has_none ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

class SharedFrames : public ::testing::Test {
 protected:
  SharedFrames()
      : path_(testing::TempDir() + "frame_pool_test." + std::to_string(getpid()) + "." +
              testing::UnitTest::GetInstance()->current_test_info()->name()) {}
  ~SharedFrames() override { std::filesystem::remove(path_); }

  [[nodiscard]] std::string bytes() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  void expect_flushed(TraceWriter& writer, const Tables& tables) const {
    EXPECT_TRUE(writer.flush(tables));
    EXPECT_EQ(writer.bytes_written(), std::filesystem::file_size(path_));
  }

  // All that a writer can be asked for, with frames that other threads may make.
  std::string trace_by(unsigned threads) {
    Maker maker(8);
    FramePool pool(threads);
    auto writer = *TraceWriter::create(path_, true);
    writer->share_frames(&pool);
    EXPECT_TRUE(writer->begin(sample_capture()));
    for (unsigned frame = 0; frame < 60; ++frame) {
      writer->set_behind(frame % 10 != 0);
      for (unsigned i = 0; i < 1 + frame % 6; ++i) {
        EventBatch batch = maker.batch(400);
        writer->take(batch, maker.tables());
        maker.grow();
      }
      if (frame % 7 == 3) writer->add_mark({.number = 0, .kind = model::MarkKind::kNamed, .name = "a"});
      if (frame % 7 == 4) writer->add_block_name({frame, "b"});
      if (frame % 7 == 5) writer->add_resident({.time_ns = frame, .anonymous_bytes = frame});
      EXPECT_TRUE(writer->end_frame(maker.tables()));
      if (frame % 9 == 8) expect_flushed(*writer, maker.tables());
      base::Result<> written;
      if (frame == 30) written = writer->write_scan({}, maker.tables());
      if (frame == 40 || frame == 41) written = writer->write_totals({}, maker.tables());
      EXPECT_TRUE(written);
    }
    EXPECT_TRUE(writer->finish(sample_capture(), maker.tables()));
    return bytes();
  }

  std::string path_;
};

TEST_F(SharedFrames, TheFileIsTheSameForAnyNumberOfThreads) {
  const std::string alone = trace_by(1);
  for (const unsigned threads : {2u, 3u, 4u, 8u}) {
    for (unsigned round = 0; round < 3; ++round) EXPECT_TRUE(trace_by(threads) == alone) << threads << " threads";
  }
}

TEST_F(SharedFrames, WhatIsFlushedIsInTheFile) {
  Maker maker(9);
  FramePool pool(4);
  auto writer = *TraceWriter::create(path_, true);
  writer->share_frames(&pool);
  writer->set_behind(true);
  ASSERT_TRUE(writer->begin(sample_capture()));
  uint64_t events = 0;
  for (unsigned frame = 0; frame < 5; ++frame) {
    EventBatch batch = maker.batch(3000);
    events += batch.events.size();
    writer->take(batch, maker.tables());
    ASSERT_TRUE(writer->end_frame(maker.tables()));
    EXPECT_LE(writer->events_written(), events);
  }
  ASSERT_TRUE(writer->flush(maker.tables()));
  EXPECT_EQ(writer->events_written(), events);
  EXPECT_EQ(writer->bytes_written(), std::filesystem::file_size(path_));
}

// The limit on a file's size is a disk that is full.
TEST_F(SharedFrames, AFullDiskIsReportedAndTheFileEndsWithItsLastFrame) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  std::string message;
  for (const unsigned threads : {1u, 4u}) {
    Maker maker(10);
    FramePool pool(threads);
    auto writer = *TraceWriter::create(path_, true);
    writer->share_frames(&pool);
    writer->set_behind(true);
    ASSERT_TRUE(writer->begin(sample_capture()));
    const rlimit small{.rlim_cur = 20'000, .rlim_max = before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    base::Result<> written;
    for (unsigned frame = 0; written && frame < 1000; ++frame) {
      EventBatch batch = maker.batch(1000);
      writer->take(batch, maker.tables());
      written = writer->end_frame(maker.tables());
    }
    ASSERT_FALSE(written);
    const auto again = writer->flush(maker.tables());
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().message, written.error().message);
    EXPECT_FALSE(writer->finish(sample_capture(), maker.tables()));
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_EQ(writer->bytes_written(), std::filesystem::file_size(path_));
    EXPECT_GT(writer->events_written(), 0u);
    if (threads == 1) message = written.error().message;
    EXPECT_EQ(written.error().message, message);
  }
  std::signal(SIGXFSZ, handler);
}

}  // namespace
}  // namespace heaptap::trace
