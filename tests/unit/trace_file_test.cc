// Whole trace files: written and read, cut off, damaged, foreign.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "host/intake/trace_index.h"
#include "host/intake/trace_reader.h"
#include "host/intake/trace_writer.h"
#include "random_events.h"

namespace heaptap::intake {
namespace {

using namespace test;

struct Collected : EventSink {
  std::vector<EventBatch> batches;
  void on_batch(const EventBatch& batch, const Tables& tables) override {
    expect_sound(tables);
    expect_sound(batch, tables);
    batches.push_back(batch);
  }
};

class TraceFile : public ::testing::Test {
 protected:
  TraceFile() {
    const std::string folder = std::filesystem::temp_directory_path();
    path_ = folder + "/heaptap-intake-test." + std::to_string(getpid()) + "." +
            ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove(path_);
  }
  ~TraceFile() override { std::filesystem::remove(path_); }

  // A trace of some batches; remembers them and where their frames end.
  void write(Maker& maker, int batch_count, size_t events_each) {
    auto writer = TraceWriter::create(path_, true);
    ASSERT_TRUE(writer) << writer.error().message;
    ASSERT_TRUE((*writer)->begin(sample_capture()));
    for (int i = 0; i < batch_count; ++i) {
      const EventBatch batch = maker.batch(events_each);
      ASSERT_TRUE((*writer)->write(batch, maker.tables()));
      batches_.push_back(batch);
      batch_ends_.push_back((*writer)->bytes_written());
      maker.grow();
    }
    ASSERT_TRUE((*writer)->finish(sample_capture(), maker.tables()));
    EXPECT_EQ((*writer)->bytes_written(), std::filesystem::file_size(path_));
  }

  [[nodiscard]] std::string bytes() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void replace(const std::string& bytes) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

  void change_byte(size_t at, char value) const {
    std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(at));
    file.put(value);
  }

  // The batches that were read are the first of those that were written.
  void expect_first(const Maker& maker, const Collected& collected) const {
    ASSERT_LE(collected.batches.size(), batches_.size());
    for (size_t i = 0; i < collected.batches.size(); ++i) {
      expect_same(collected.batches[i], maker.as_read(batches_[i], true));
    }
  }

  std::string path_;
  std::vector<EventBatch> batches_;
  std::vector<uint64_t> batch_ends_;
};

TEST_F(TraceFile, GivesBackAllThatWasWritten) {
  Maker maker(9);
  write(maker, 12, 500);
  auto reader = TraceReader::open(path_);
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ(reader->capture().pid, 4242u) << "known before the replay";
  for (int time = 0; time < 2; ++time) {
    Collected collected;
    ReplayOptions options;
    options.addresses = true;
    uint64_t done = 0;
    options.progress = [&](uint64_t bytes, uint64_t total) {
      EXPECT_GE(bytes, done);
      EXPECT_LE(bytes, total);
      done = bytes;
    };
    ASSERT_TRUE(reader->replay(collected, options));
    ASSERT_EQ(collected.batches.size(), batches_.size());
    expect_first(maker, collected);
    expect_same(reader->tables(), maker.tables());
    expect_same(reader->capture(), sample_capture());
    EXPECT_FALSE(reader->capture().truncated) << reader->capture().damage;
    EXPECT_EQ(reader->capture().trace_bytes, std::filesystem::file_size(path_));
  }
}

TEST_F(TraceFile, HoldsNoEvents) {
  Maker maker(10);
  write(maker, 0, 0);
  auto reader = TraceReader::open(path_);
  ASSERT_TRUE(reader);
  Collected collected;
  ASSERT_TRUE(reader->replay(collected));
  EXPECT_TRUE(collected.batches.empty());
  EXPECT_FALSE(reader->capture().truncated) << reader->capture().damage;
}

TEST_F(TraceFile, CutAnywhereIsReadUpToTheCut) {
  Maker maker(11);
  write(maker, 4, 20);
  ReplayOptions options;
  options.addresses = true;
  for (size_t kept = std::filesystem::file_size(path_); kept-- > 0;) {
    std::filesystem::resize_file(path_, kept);
    auto reader = TraceReader::open(path_);
    if (kept < wire::kFileHeadBytes) {
      EXPECT_FALSE(reader) << kept;
      continue;
    }
    ASSERT_TRUE(reader) << kept;
    Collected collected;
    ASSERT_TRUE(reader->replay(collected, options));
    expect_first(maker, collected);
    const auto whole_batches = static_cast<size_t>(
        std::count_if(batch_ends_.begin(), batch_ends_.end(), [&](uint64_t end) { return end <= kept; }));
    EXPECT_EQ(collected.batches.size(), whole_batches) << kept;
    EXPECT_EQ(reader->capture().truncated, !reader->capture().damage.empty()) << kept;
    // Behind the frame of the end only the index can be missing, which no reading needs.
    EXPECT_TRUE(reader->capture().truncated || reader->capture().ended) << kept;
  }
}

TEST_F(TraceFile, EveryChangedByteIsNoticedOrDoesNotMatter) {
  Maker maker(12);
  write(maker, 3, 20);
  const std::string whole = bytes();
  ReplayOptions options;
  options.addresses = true;
  size_t unnoticed = 0;
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const int mask : {0x01, 0x80, 0xff}) {
      change_byte(at, static_cast<char>(whole[at] ^ mask));
      auto reader = TraceReader::open(path_);
      Collected collected;
      if (reader) {
        ASSERT_TRUE(reader->replay(collected, options));
      }
      change_byte(at, whole[at]);
      if (!reader) {
        EXPECT_LT(at, wire::kFileHeadBytes);
        continue;
      }
      expect_first(maker, collected);
      if (reader->capture().truncated) continue;
      ++unnoticed;
      EXPECT_EQ(collected.batches.size(), batches_.size());
      expect_same(reader->capture(), sample_capture());
      // Only what isn't read: the minor version, what is reserved, and the trailer.
      EXPECT_TRUE((at >= 10 && at < wire::kFileHeadBytes) || at >= whole.size() - wire::kTrailerBytes) << at;
    }
  }
  EXPECT_GT(unnoticed, 0u);
}

// What a replay gives, with the decoder in a thread of its own and without.
void expect_same_either_way(const std::string& path) {
  auto ahead = TraceReader::open(path);
  auto inline_reader = TraceReader::open(path);
  ASSERT_TRUE(ahead && inline_reader);
  Collected with_thread;
  Collected without;
  ASSERT_TRUE(ahead->replay(with_thread, {.addresses = true, .decoder_thread = true, .progress = {}}));
  ASSERT_TRUE(inline_reader->replay(without, {.addresses = true, .decoder_thread = false, .progress = {}}));
  ASSERT_EQ(with_thread.batches.size(), without.batches.size());
  for (size_t i = 0; i < without.batches.size(); ++i) expect_same(with_thread.batches[i], without.batches[i]);
  expect_same(ahead->tables(), inline_reader->tables());
  expect_same(ahead->capture(), inline_reader->capture());
  EXPECT_EQ(ahead->capture().damage, inline_reader->capture().damage);
}

TEST_F(TraceFile, GivesTheSameWithAndWithoutADecoderThread) {
  Maker maker(17);
  write(maker, 5, 60);
  const std::string whole = bytes();
  expect_same_either_way(path_);
  for (size_t at = wire::kFileHeadBytes; at < whole.size(); at += 5) {
    replace(whole.substr(0, at));
    expect_same_either_way(path_);
    replace(whole);
    change_byte(at, static_cast<char>(whole[at] ^ 0x11));
    expect_same_either_way(path_);
  }
}

struct Thrower : EventSink {
  void on_batch(const EventBatch&, const Tables&) override { throw std::runtime_error("enough"); }
};

TEST_F(TraceFile, ASinkMayThrowWhileTheDecoderIsAhead) {
  Maker maker(18);
  write(maker, 8, 300);
  auto reader = TraceReader::open(path_);
  ASSERT_TRUE(reader);
  Thrower thrower;
  EXPECT_THROW((void)reader->replay(thrower, {.decoder_thread = true, .progress = {}}), std::runtime_error);
  expect_same_either_way(path_);
}

TEST_F(TraceFile, MissingAndRepeatedFramesAreNoticed) {
  Maker maker(13);
  write(maker, 3, 50);
  const std::string whole = bytes();
  const size_t first_end = batch_ends_[0];
  const size_t second_end = batch_ends_[1];
  for (const std::string& changed :
       {whole.substr(0, first_end) + whole.substr(second_end), whole.substr(0, second_end) + whole.substr(first_end)}) {
    replace(changed);
    auto reader = TraceReader::open(path_);
    ASSERT_TRUE(reader);
    Collected collected;
    ReplayOptions options;
    options.addresses = true;
    ASSERT_TRUE(reader->replay(collected, options));
    expect_first(maker, collected);
    EXPECT_TRUE(reader->capture().truncated);
  }
}

TEST_F(TraceFile, OfAnOlderVersionIsRefused) {
  Maker maker(14);
  write(maker, 1, 10);
  std::string changed = bytes();
  changed[8] = static_cast<char>(wire::kMajorVersion - 1);
  replace(changed);
  const auto reader = TraceReader::open(path_);
  ASSERT_FALSE(reader);
  EXPECT_NE(reader.error().message.find("older heaptap"), std::string::npos) << reader.error().message;
}

TEST_F(TraceFile, OfANewerVersionIsRefused) {
  Maker maker(14);
  write(maker, 1, 10);
  std::string changed = bytes();
  changed[8] = static_cast<char>(wire::kMajorVersion + 1);
  replace(changed);
  const auto reader = TraceReader::open(path_);
  ASSERT_FALSE(reader);
  EXPECT_NE(reader.error().message.find("newer heaptap"), std::string::npos) << reader.error().message;
  changed[8] = static_cast<char>(wire::kMajorVersion);
  changed[10] = 99;  // a newer minor version only adds what may be skipped
  replace(changed);
  EXPECT_TRUE(TraceReader::open(path_));
}

TEST_F(TraceFile, OfOtherKindsIsRefused) {
  for (const std::string& contents :
       {std::string(), std::string("HEAPTAP"), std::string(100, 'x'), std::string(16, '\0')}) {
    replace(contents);
    const auto reader = TraceReader::open(path_);
    ASSERT_FALSE(reader);
    EXPECT_NE(reader.error().message.find(path_), std::string::npos);
  }
  EXPECT_FALSE(TraceReader::open(path_ + ".absent"));
  EXPECT_FALSE(TraceReader::open(std::filesystem::temp_directory_path()));
}

TEST_F(TraceFile, IsNotOverwrittenUnasked) {
  replace("something of the user's");
  EXPECT_FALSE(TraceWriter::create(path_, false));
  EXPECT_EQ(bytes(), "something of the user's");
  EXPECT_TRUE(TraceWriter::create(path_, true));
}

TEST_F(TraceFile, WhereItCannotBeMadeSaysWhy) {
  const auto writer = TraceWriter::create("/nowhere/at/all", false);
  ASSERT_FALSE(writer);
  EXPECT_NE(writer.error().message.find("/nowhere/at/all"), std::string::npos);
}

TEST_F(TraceFile, HasAnIndexThatIsRebuiltWhereItIsMissing) {
  Maker maker(21);
  write(maker, 5, 300);
  const auto index_of = [this] {
    const int descriptor = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    const TraceIndex index = read_trace_index(descriptor, std::filesystem::file_size(path_));
    close(descriptor);
    return index;
  };
  const TraceIndex whole = index_of();
  EXPECT_FALSE(whole.rebuilt);
  const std::string all = bytes();
  replace(all.substr(0, all.size() - 1));
  const TraceIndex cut = index_of();
  EXPECT_TRUE(cut.rebuilt);
  ASSERT_EQ(cut.frames.size(), whole.frames.size());
  uint64_t event_frames = 0;
  for (size_t i = 0; i < whole.frames.size(); ++i) {
    EXPECT_EQ(cut.frames[i].offset, whole.frames[i].offset);
    EXPECT_EQ(cut.frames[i].type, whole.frames[i].type);
    if (whole.frames[i].type == wire::FrameType::kEvents) {
      EXPECT_EQ(whole.frames[i].first_event, 300 * event_frames++);
    }
  }
  EXPECT_EQ(event_frames, 5U);
}

TEST_F(TraceFile, SaysHowItEndedBeforeItIsReplayed) {
  Maker maker(22);
  write(maker, 2, 100);
  const auto reader = TraceReader::open(path_);
  ASSERT_TRUE(reader);
  EXPECT_TRUE(reader->capture().ended == sample_capture().ended);
  EXPECT_EQ(reader->capture().duration_ns, sample_capture().duration_ns);
}

TEST(TraceWriter, AFullDiskEndsTheTraceAndIsReported) {
  auto writer = TraceWriter::create("/dev/full", true);
  if (!writer) GTEST_SKIP() << "no /dev/full here";
  Maker maker(15);
  const auto begun = (*writer)->begin(sample_capture());
  ASSERT_FALSE(begun);
  const auto written = (*writer)->write(maker.batch(10), maker.tables());
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().message, begun.error().message);
}

}  // namespace
}  // namespace heaptap::intake
