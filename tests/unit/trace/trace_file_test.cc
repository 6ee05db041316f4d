// Whole trace files: written and read, cut off, damaged, foreign.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "common/base/units.h"
#include "common/frames/capture_frames.h"
#include "common/frames/resident_frames.h"
#include "random_events.h"
#include "record/trace/trace_index.h"
#include "record/trace/trace_reader.h"
#include "record/trace/trace_writer.h"
#include "rounds.h"

namespace heaptap::trace {
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
    const std::string directory = std::filesystem::temp_directory_path();
    path_ = directory + "/heaptap-trace-file-test." + std::to_string(getpid()) + "." +
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

  // Each batch that was read is one of those that were written, in order; a release of a block whose batch is missing is one of
  // an unknown block.
  void expect_some(const Maker& maker, const Collected& collected) const {
    size_t next = 0;
    for (const EventBatch& read : collected.batches) {
      while (next < batches_.size() && batches_[next].first_block != read.first_block) ++next;
      ASSERT_LT(next, batches_.size()) << "a batch that nobody wrote";
      const EventBatch expected = maker.as_read(batches_[next++], true);
      ASSERT_EQ(read.events.size(), expected.events.size());
      for (size_t i = 0; i < read.events.size(); ++i) {
        const Event& event = read.events[i];
        EXPECT_EQ(event.site, expected.events[i].site);
        const bool is_unknown = event.size_or_block == model::kUnknownBlock && event.address == 0;
        EXPECT_TRUE(is_unknown || event == expected.events[i]);
      }
    }
  }

  [[nodiscard]] std::vector<FramePlace> frames(wire::FrameType type) const {
    const int descriptor = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    std::vector<FramePlace> found = read_trace_index(descriptor, std::filesystem::file_size(path_)).frames;
    close(descriptor);
    std::erase_if(found, [type](const FramePlace& frame) { return frame.type != type; });
    return found;
  }
  void flip_bit_in(const FramePlace& frame) const {
    const size_t at = frame.offset + wire::kFrameHeadBytes + 1;
    change_byte(at, static_cast<char>(bytes()[at] ^ 1));
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
  const auto step = static_cast<size_t>(heaptap::test::rounds(3, 1));
  for (size_t kept = std::filesystem::file_size(path_); kept >= step;) {
    kept -= step;
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
  write(maker, 3, 40);  // so many that each batch has allocations, by whose numbers it is known
  const std::string whole = bytes();
  ReplayOptions options;
  options.addresses = true;
  size_t unnoticed = 0;
  const auto step = static_cast<size_t>(heaptap::test::rounds(7, 1));
  for (size_t at = 0; at < whole.size(); at += step) {
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
      expect_some(maker, collected);
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
  const auto step = static_cast<size_t>(heaptap::test::rounds(51, 17));
  for (size_t at = wire::kFileHeadBytes; at < whole.size(); at += step) {
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
    expect_some(maker, collected);
    EXPECT_TRUE(reader->capture().truncated);
  }
}

TEST_F(TraceFile, AFlippedBitCostsTheEventsOfOneFrame) {
  Maker maker(31);
  write(maker, 6, 200);
  const FramePlace damaged = frames(wire::FrameType::kEvents)[2];
  flip_bit_in(damaged);
  auto reader = TraceReader::open(path_);
  ASSERT_TRUE(reader);
  Collected collected;
  ASSERT_TRUE(reader->replay(collected, {.addresses = true, .progress = {}}));
  EXPECT_EQ(collected.batches.size(), 5U);
  expect_some(maker, collected);
  expect_same(reader->tables(), maker.tables());
  const model::Capture& capture = reader->capture();
  EXPECT_TRUE(capture.ended);
  EXPECT_TRUE(capture.truncated);
  EXPECT_NE(capture.damage.find(fmt::format("a frame is damaged (at byte {} of", damaged.offset)), std::string::npos)
      << capture.damage;
  EXPECT_NE(capture.damage.find("everything else was read"), std::string::npos) << capture.damage;
  EXPECT_FALSE(capture.known_until_ns) << "something before is missing";
}

// Whatever frame of entries it is: all others keep their numbers, and what refers to it says that it is missing.
TEST_F(TraceFile, ADamagedTableCostsWhatRefersToIt) {
  Maker maker(32);
  write(maker, 6, 200);
  const std::string whole = bytes();
  const Tables& written = maker.tables();
  for (auto type = wire::FrameType::kModules; type <= wire::FrameType::kThreads;
       type = static_cast<wire::FrameType>(static_cast<int>(type) + 1)) {
    for (const FramePlace& frame : frames(type)) {
      flip_bit_in(frame);
      auto reader = TraceReader::open(path_);
      ASSERT_TRUE(reader);
      Collected collected;
      ASSERT_TRUE(reader->replay(collected, {.addresses = true, .progress = {}}));
      expect_some(maker, collected);
      EXPECT_TRUE(reader->capture().ended);
      EXPECT_TRUE(reader->capture().truncated);
      EXPECT_TRUE(type == wire::FrameType::kSites || collected.batches.size() == batches_.size());
      const Tables& read = reader->tables();
      size_t known_stacks = 0;
      for (size_t i = 0; i < read.sites.size(); ++i) {
        if (read.sites[i].stack == static_cast<model::StackId>(wire::StackEnd::kMissing)) continue;
        EXPECT_TRUE(read.sites[i] == written.sites[i]) << i;
        ++known_stacks;
      }
      EXPECT_GT(known_stacks, 0U);
      for (size_t i = wire::kRootCount; i < read.stacks.size(); ++i) {
        if (read.stacks[i].parent == static_cast<model::StackId>(wire::StackEnd::kMissing)) continue;
        EXPECT_TRUE(read.stacks[i] == written.stacks[i]) << i;
      }
      replace(whole);
    }
  }
}

TEST_F(TraceFile, OfAVersionWithoutNumbersIsReadUpToTheDamage) {
  Maker maker(33);
  write(maker, 6, 200);
  flip_bit_in(frames(wire::FrameType::kEvents)[2]);
  change_byte(10, 0);
  auto reader = TraceReader::open(path_);
  ASSERT_TRUE(reader);
  Collected collected;
  ASSERT_TRUE(reader->replay(collected, {.addresses = true, .progress = {}}));
  EXPECT_EQ(collected.batches.size(), 2U);
  expect_first(maker, collected);
}

TEST_F(TraceFile, TablesAreThereWithoutTheEvents) {
  Maker maker(34);
  write(maker, 6, 200);
  auto reader = TraceReader::open(path_);
  ASSERT_TRUE(reader);
  Collected collected;
  ASSERT_TRUE(reader->replay(collected, {.events = false, .progress = {}}));
  EXPECT_TRUE(collected.batches.empty());
  expect_same(reader->tables(), maker.tables());
  EXPECT_FALSE(reader->capture().truncated) << reader->capture().damage;
}

TEST_F(TraceFile, IsBeingWrittenAsLongAsItsWriterLives) {
  Maker maker(35);
  auto writer = TraceWriter::create(path_, true);
  ASSERT_TRUE(writer);
  ASSERT_TRUE((*writer)->begin(sample_capture()));
  ASSERT_TRUE((*writer)->write(maker.batch(100), maker.tables()));
  for (const bool is_written : {true, false}) {
    if (!is_written) writer->reset();
    auto reader = TraceReader::open(path_);
    ASSERT_TRUE(reader);
    Collected collected;
    ASSERT_TRUE(reader->replay(collected));
    EXPECT_EQ(collected.batches.size(), 1U);
    EXPECT_EQ(reader->capture().running, is_written);
    EXPECT_TRUE(reader->capture().truncated);
    const uint64_t last_ns = collected.batches.back().time_marks.back().time_ns;
    EXPECT_EQ(reader->capture().known_until_ns, last_ns);
    const std::string before = is_written ? "still being recorded: known up to " : "showing everything up to ";
    EXPECT_TRUE(reader->capture().damage.ends_with(before + base::format_duration(last_ns)))
        << reader->capture().damage;
  }
}

model::ResidentSample resident_at(uint64_t time_ns, uint64_t bytes) {
  return {.time_ns = time_ns, .anonymous_bytes = bytes, .file_bytes = 4096, .shared_bytes = 0, .peak_bytes = 2 * bytes};
}

TEST_F(TraceFile, HasItsSamplesOfResidentMemory) {
  Maker maker(21);
  const EventBatch batch = maker.batch(100);
  std::vector<model::ResidentSample> samples;
  {
    auto writer = TraceWriter::create(path_, true);
    ASSERT_TRUE(writer && (*writer)->begin(sample_capture()));
    (*writer)->add_resident(samples.emplace_back(resident_at(10, 1 << 20)));
    (*writer)->add_resident(resident_at(9, 1 << 21));  // out of order
    ASSERT_TRUE((*writer)->write(batch, maker.tables()));
    (*writer)->add_resident(samples.emplace_back(resident_at(20, 3 << 20)));
    const uint64_t bytes_before = (*writer)->bytes_written();
    ASSERT_TRUE((*writer)->flush(maker.tables()));
    EXPECT_EQ((*writer)->bytes_written(), bytes_before);  // without events it doesn't grow
    (*writer)->add_resident(samples.emplace_back(resident_at(30, 2 << 20)));
    ASSERT_TRUE((*writer)->finish(sample_capture(), maker.tables()));
  }
  auto reader = TraceReader::open(path_);
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader->resident(), samples);
  Collected collected;
  ASSERT_TRUE(reader->replay(collected));
  EXPECT_EQ(reader->resident(), samples);
  EXPECT_FALSE(reader->capture().truncated) << reader->capture().damage;
  EXPECT_EQ(collected.batches.size(), 1U);
  auto follower = TraceReader::open(path_);
  Collected followed;
  ASSERT_TRUE(follower->follow(followed, {}));
  EXPECT_EQ(follower->resident(), samples);
}

TEST_F(TraceFile, KeepsOneFrameOfTotalsBesideSamples) {
  Maker maker(22);
  auto writer = TraceWriter::create(path_, true);
  ASSERT_TRUE(writer && (*writer)->begin(sample_capture()));
  ASSERT_TRUE((*writer)->write_totals({}, maker.tables()));
  const auto count = [this](wire::FrameType type) {
    const base::UniqueFd file(open(path_.c_str(), O_RDONLY | O_CLOEXEC));
    const auto index = read_trace_index(file.get(), std::filesystem::file_size(path_));
    return std::ranges::count(index.frames, type, &FramePlace::type);
  };
  for (uint64_t i = 1; i <= 5; ++i) {
    (*writer)->add_resident(resident_at(i, 4096));
    ASSERT_TRUE((*writer)->flush(maker.tables()));
    ASSERT_TRUE((*writer)->write_totals({}, maker.tables()));
  }
  EXPECT_EQ(count(wire::FrameType::kTotals), 1);
  EXPECT_EQ(count(wire::FrameType::kResident), 5);
  (*writer)->add_resident(resident_at(6, 4096));
  ASSERT_TRUE((*writer)->finish(sample_capture(), maker.tables()));
  EXPECT_EQ(TraceReader::open(path_)->resident().size(), 6U);
}

// Frames that take a few hundred bytes in the file, and would take gigabytes of memory.
class SmallFiles : public TraceFile {
 protected:
  void begin() {
    content_.assign(wire::kFileMagic, 8);
    const uint16_t versions[] = {wire::kMajorVersion, wire::kMinorVersion};
    content_.append(reinterpret_cast<const char*>(versions), sizeof(versions)).append(4, '\0');
    frames::ByteBuffer facts;
    frames::write_capture_start(facts, sample_capture());
    add(wire::FrameType::kCapture, facts);
  }
  void add(wire::FrameType type, const frames::ByteBuffer& payload) {
    const std::vector<uint8_t>& packed = compressor_.compress(payload.data(), payload.size());
    const bool is_packed = !packed.empty();
    const uint8_t* stored = is_packed ? packed.data() : payload.data();
    const auto bytes = static_cast<uint32_t>(is_packed ? packed.size() : payload.size());
    const wire::FrameHead head{type,      is_packed ? wire::Codec::kZstd : wire::Codec::kNone,
                               bytes,     static_cast<uint32_t>(payload.size()),
                               number_++, 0};
    uint8_t head_bytes[wire::kFrameHeadBytes];
    wire::write_frame_head(head_bytes, head, stored);
    content_.append(reinterpret_cast<const char*>(head_bytes), sizeof(head_bytes));
    content_.append(reinterpret_cast<const char*>(stored), bytes);
  }
  std::string damage_of() {
    replace(content_);
    EXPECT_LT(content_.size(), 40'000U);
    auto reader = TraceReader::open(path_);
    EXPECT_TRUE(reader);
    if (!reader) return "";
    Collected collected;
    EXPECT_TRUE(reader->replay(collected, {.decoder_thread = false, .progress = {}}));
    const Tables& tables = reader->tables();
    constexpr size_t kMax = 10'000'000;
    EXPECT_LT(tables.codes.size() + tables.stacks.size() + tables.sites.size() + tables.threads.size(), kMax);
    return reader->capture().damage;
  }

  std::string content_;
  uint32_t number_ = 0;
  Compressor compressor_{3};
};

constexpr const char* kTooMany = "a table has more entries than a trace of this size can hold";

TEST_F(SmallFiles, CannotHaveMoreCodesThanTheyCanMean) {
  begin();
  constexpr uint64_t kEach = 4'000'000;
  for (uint64_t frame = 0; frame < 8; ++frame) {
    frames::ByteBuffer payload;
    payload.varint(kEach);
    for (uint64_t i = 0; i < 2 * kEach; ++i) payload.varint(0);
    frames::write_first_number(payload, frame * kEach);
    add(wire::FrameType::kCodes, payload);
  }
  EXPECT_NE(damage_of().find(kTooMany), std::string::npos);
}

TEST_F(SmallFiles, CannotHaveMoreStacksThanTheyCanMean) {
  begin();
  frames::ByteBuffer codes;
  codes.varint(1);
  for (int i = 0; i < 2; ++i) codes.varint(0);
  frames::write_first_number(codes, 0);
  add(wire::FrameType::kCodes, codes);
  constexpr uint64_t kEach = 4'000'000;
  for (uint64_t frame = 0; frame < 6; ++frame) {
    frames::ByteBuffer payload;
    payload.varint(kEach);
    for (uint64_t i = 0; i < kEach; ++i) payload.varint(1);
    for (uint64_t i = 0; i < kEach; ++i) payload.varint(0);
    frames::write_first_number(payload, wire::kRootCount + frame * kEach);
    add(wire::FrameType::kStacks, payload);
  }
  EXPECT_NE(damage_of().find(kTooMany), std::string::npos);
}

TEST_F(SmallFiles, CannotSayThatEntriesAreMissingThatNeverWere) {
  begin();
  content_.append("a damaged part, so that frames may be missing");
  number_ += 3;
  frames::ByteBuffer payload;
  payload.varint(0);
  frames::write_first_number(payload, uint64_t{1} << 30);
  add(wire::FrameType::kSites, payload);
  EXPECT_NE(damage_of().find("are inconsistent"), std::string::npos);
}

TEST_F(SmallFiles, CannotUnpackToTheLargestFrames) {
  begin();
  frames::ByteBuffer payload;
  std::memset(payload.append(wire::kMaxFrameBytes), 0, wire::kMaxFrameBytes);
  for (int i = 0; i < 4; ++i) add(wire::FrameType::kModules, payload);
  EXPECT_NE(damage_of().find("a frame is damaged"), std::string::npos);
}

TEST_F(SmallFiles, CannotHaveSamplesThatMakeNoSense) {
  begin();
  frames::ByteBuffer sound;
  frames::write_resident(sound, std::vector{resident_at(5, 4096)});
  add(wire::FrameType::kResident, sound);
  frames::ByteBuffer many;
  constexpr size_t kMany = model::kMaxResidentSamples + 1;
  many.varint(kMany);
  std::memset(many.append(5 * kMany), 0, 5 * kMany);
  add(wire::FrameType::kResident, many);
  frames::ByteBuffer earlier;
  frames::write_resident(earlier, std::vector{resident_at(4, 4096)});
  add(wire::FrameType::kResident, earlier);
  frames::ByteBuffer later;
  frames::write_resident(later, std::vector{resident_at(6, 8192)});
  add(wire::FrameType::kResident, later);
  EXPECT_EQ(damage_of(), "recording was interrupted");  // it has no last frame
  EXPECT_EQ(TraceReader::open(path_)->resident(), (std::vector{resident_at(5, 4096), resident_at(6, 8192)}));
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
}  // namespace heaptap::trace
