// What a recording keeps in memory for a line that is slow, or that nobody is at the other end of.
#include "capture/uplink/forwarded_recording.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "capture/tracer/log_writer.h"
#include "child_process.h"
#include "common/line/line_messages.h"
#include "common/line/message_fields.h"
#include "record/remote/remote_recording.h"
#include "two_ends.h"

namespace heaptap::uplink {
namespace {

using line::Kind;

constexpr uint64_t kLogBytes = uint64_t{8} << 20;

class NoTarget : public remote::TargetControl {
 public:
  base::Result<> ask(message::Number /*request*/, message::Fields /*fields*/) override {
    return base::fail("nobody is there");
  }
};

// A program that is faster than the line, and the recording of it in a session that waits for its host.
class FastProgram {
 public:
  explicit FastProgram(const std::string& directory)
      : ends_(directory), directory_(directory), child_([](int) { pause(); }), recording_(create()) {
    ends_.target.begin_own_session();
    const log::LogMemory& log = recording_->log();
    void* const mapped =
        mmap(nullptr, log.bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, log.descriptor(), 0);
    writer_ = tracer::LogWriter::create(static_cast<wire::LogHeader*>(mapped), log.bytes());
    stream_ = writer_->open_stream(1);
  }

  // As much as there is room for in the log, and more.
  void fill_log() {
    constexpr int kEvents = 600'000;
    for (int i = 0; i < kEvents; ++i) {
      const uint64_t address = uint64_t{0x10'0000} + random_() % 4096 * 64;
      if (const auto alive = alive_.find(address); alive == alive_.end()) {
        writer_->write(stream_, {wire::RecordKind::kAllocate, wire::Function::kMalloc, address, random_() % 5000});
        alive_[address] = true;
      } else {
        writer_->write(stream_, {wire::RecordKind::kRelease, wire::Function::kFree, address});
        alive_.erase(alive);
      }
    }
  }
  base::Result<uint32_t> scan() {
    return recording_->scan(
        {.stop = [this] { return process::StoppedProcess::stop(child_.id()); }, .finish_exit = [] { return true; }},
        std::nullopt);
  }
  size_t kept_bytes() { return ends_.target.link().line().kept_bytes(); }
  ForwardedRecording& recording() { return *recording_; }

  // A host comes, and takes all of it: how many scans its trace has then.
  uint32_t scans_at_host() {
    NoTarget nobody;
    model::Capture capture;
    capture.pid = static_cast<uint32_t>(child_.id());
    capture.via = "agent";
    capture.from_start = true;
    capture.time_resolution_ns = 1000;
    const auto made = remote::RemoteRecording::create(nobody, capture, directory_ + "/trace.htap", true);
    remote::RemoteRecording& trace = **made;
    std::string scanned;
    ends_.host.set_takes_over(false);
    const auto is_told = [&] {
      (void)recording_->poll();
      while (const auto message = ends_.host.link().line().next()) {
        if (message->kind == Kind::kBytes) trace.receive(line::decode_stream_bytes(message->fields).bytes);
        if (message->kind != Kind::kScanned) continue;
        const line::ScanPiece piece = line::decode_scan_piece(message->fields);
        scanned += piece.bytes;
        if (piece.end) {
          const auto taken = trace.receive_scan(line::bytes_of(scanned), *piece.end);
          EXPECT_TRUE(taken) << taken.error().message;
        }
      }
      return recording_->has_told_scan() && kept_bytes() == 0;
    };
    EXPECT_TRUE(ends_.run_until(is_told));
    return trace.figures().scans;
  }

 private:
  std::unique_ptr<ForwardedRecording> create() {
    log::LogOptions options;
    options.chunk_memory_bytes = options.max_chunk_memory_bytes = kLogBytes;
    options.overflow_policy = wire::OverflowPolicy::kDrop;
    model::Capture capture;
    capture.pid = static_cast<uint32_t>(child_.id());
    capture.via = "agent";
    capture.from_start = true;
    return *ForwardedRecording::create(ends_.target, 1, options, capture, {.host = &ends_.target});
  }

  test::TwoEnds ends_;
  const std::string directory_;
  test::ChildProcess child_;
  std::unique_ptr<ForwardedRecording> recording_;
  std::unique_ptr<tracer::LogWriter> writer_;
  wire::LogStream* stream_ = nullptr;
  std::map<uint64_t, bool> alive_;
  std::mt19937_64 random_{3};
};

class ForwardedRecordingTest : public ::testing::Test {
 protected:
  test::OwnDirectory directory_;
};

TEST_F(ForwardedRecordingTest, AScanOfAFullLogTakesNoMoreThanTheLineHasRoomFor) {
  constexpr size_t kMaxBytes = test::TwoEnds::kKeptBytes + (size_t{128} << 10);  // what one drain brings
  FastProgram program(directory_.path());
  while (program.kept_bytes() < test::TwoEnds::kKeptBytes) {
    program.fill_log();
    while (program.recording().poll() > 0) {
    }
  }
  program.fill_log();

  const auto scan = program.scan();

  ASSERT_TRUE(scan) << scan.error().message;
  EXPECT_LT(program.kept_bytes(), kMaxBytes);
  EXPECT_FALSE(program.recording().has_told_scan());
  // It comes behind the events that came before it: both sides agree on what was alive.
  EXPECT_EQ(program.scans_at_host(), 1U);
}

TEST_F(ForwardedRecordingTest, AScanOfAnEmptyLogIsToldAtOnce) {
  FastProgram program(directory_.path());
  ASSERT_TRUE(program.scan());
  (void)program.recording().poll();
  EXPECT_TRUE(program.recording().has_told_scan());
  EXPECT_EQ(program.scans_at_host(), 1U);
}

}  // namespace
}  // namespace heaptap::uplink
