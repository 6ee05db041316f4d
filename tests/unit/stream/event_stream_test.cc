// One log through both forms of the seam: in memory, and as bytes that another machine could have sent.
#include "capture/stream/event_stream.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "capture/stream/mapped_stream.h"
#include "capture/stream/raw_stream.h"
#include "common/model/capture.h"
#include "memory_source.h"
#include "record/ingest/trace_builder.h"
#include "record/trace/trace_reader.h"
#include "record/trace/trace_writer.h"
#include "written_log.h"

namespace heaptap::stream {
namespace {

using tracer::LogWriter;
using wire::Function;
using wire::RecordKind;

constexpr uint64_t kResolutionNs = 1000;

// Hands a stream on, and sends what comes of it as bytes.
class Tap : public EventStream {
 public:
  explicit Tap(EventStream& from, RawStreamOptions options = {}) : from_(from), writer_(from.tables(), options) {}

  uint64_t drain(log::RawEvents& events, bool last) override {
    const size_t before = events.size();
    const uint64_t bytes = from_.drain(events, last);
    std::vector<model::Module> modules;
    std::vector<model::Thread> threads;
    from_.take_modules(modules);
    from_.take_threads(threads);
    writer_.add_modules(modules);
    writer_.add_threads(threads);
    writer_.add_drain(std::span(events).subspan(before), bytes, from_.state(),
                      [this](uint32_t number) { return texts_[number] = from_.take_text(number); });
    std::ranges::move(modules, std::back_inserter(modules_));
    std::ranges::move(threads, std::back_inserter(threads_));
    return bytes;
  }
  [[nodiscard]] StreamState state() const override { return from_.state(); }
  [[nodiscard]] uint64_t max_bytes_left() const override { return from_.max_bytes_left(); }
  [[nodiscard]] const AgentTables& tables() const override { return from_.tables(); }
  void take_modules(std::vector<model::Module>& modules) override {
    std::ranges::move(std::exchange(modules_, {}), std::back_inserter(modules));
  }
  void take_threads(std::vector<model::Thread>& threads) override {
    std::ranges::move(std::exchange(threads_, {}), std::back_inserter(threads));
  }

  std::string take_text(uint32_t number) override { return texts_[number]; }

  std::vector<uint8_t> sent() { return writer_.take(); }

 private:
  EventStream& from_;
  RawStreamWriter writer_;
  std::map<uint32_t, std::string> texts_;
  std::vector<model::Module> modules_;
  std::vector<model::Thread> threads_;
};

// A trace file that is made of a stream.
class MadeTrace {
 public:
  MadeTrace(const std::string& name, EventStream& stream)
      : path_(testing::TempDir() + "event_stream_test." + std::to_string(getpid()) + "." + name + ".htap") {
    capture_.command = {"./app"};
    capture_.time_resolution_ns = kResolutionNs;
    capture_.via = "agent";
    writer_ = *trace::TraceWriter::create(path_, true);
    EXPECT_TRUE(writer_->begin(capture_));
    maker_ = std::make_unique<ingest::TraceBuilder>(stream, *writer_, kResolutionNs, true);
  }
  ~MadeTrace() { std::filesystem::remove(path_); }
  MadeTrace(const MadeTrace&) = delete;
  MadeTrace& operator=(const MadeTrace&) = delete;

  ingest::TraceBuilder& maker() { return *maker_; }
  [[nodiscard]] const std::string& path() const { return path_; }

  void finish() {
    maker_->take_all();
    maker_->write_frame();
    EXPECT_TRUE(maker_->written());
    capture_.ended = true;
    capture_.event_count = maker_->event_count();
    capture_.gaps = maker_->gaps();
    EXPECT_TRUE(writer_->finish(capture_, maker_->tables()));
  }
  [[nodiscard]] std::string bytes() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::string path_;
  model::Capture capture_;
  std::unique_ptr<trace::TraceWriter> writer_;
  std::unique_ptr<ingest::TraceBuilder> maker_;
};

// What several threads of a program do to a log, at random, with all that a log can hold.
class BusyLog {
 public:
  using Stream = decltype(std::declval<LogWriter&>().open_stream(0));

  BusyLog() : writer_(written_.writer()) {
    for (uint32_t thread = 0; thread < 3; ++thread) streams_.push_back(writer_->open_stream(100 + thread));
    const uint32_t request = writer_->label(0, wire::LabelKind::kTag, "request");
    labels_ = {request, writer_->label(request, wire::LabelKind::kTag, "parse"),
               writer_->label(0, wire::LabelKind::kTag, std::string(200, 'x'))};
    pool_ = writer_->label(request, wire::LabelKind::kPool, "arena");
    resource_ = writer_->label(0, wire::LabelKind::kResource, "texture");
  }

  [[nodiscard]] const log::LogParts& parts() const { return written_.parts(); }

  void add_module() {
    const auto path = "/lib/lib" + std::to_string(++modules_) + ".so";
    const wire::ModuleNote note{.bias = modules_ * 0x100000,
                                .start = modules_ * 0x100000,
                                .end = modules_ * 0x100000 + 0x8000,
                                .generation = 1,
                                .path_bytes = static_cast<uint16_t>(path.size()),
                                .build_id_bytes = 4,
                                .flags = wire::kModuleHasNoCfi,
                                .build_id = {1, 2, 3, static_cast<uint8_t>(modules_)}};
    wire::LogHeader& log = written_.header();
    const uint32_t at = log.modules_bytes.load();
    auto* const to = const_cast<uint8_t*>(written_.part<uint8_t>(log.modules_offset)) + at;
    std::memcpy(to, &note, sizeof note);
    std::ranges::copy(path, reinterpret_cast<char*>(to) + sizeof note);
    log.modules_bytes.store(at + static_cast<uint32_t>((sizeof note + path.size() + 7) & ~size_t{7}));
  }

  void do_something() {
    const Stream stream = streams_[pick(streams_.size())];
    const uint64_t address = 0x10000 + pick(400) * 16;
    switch (pick(20)) {
      case 0:
        writer_->write(stream, {RecordKind::kMap, Function::kMmap, 0x7f0000000000 + pick(64) * 4096, 4096, stack()});
        break;
      case 1:
        writer_->write(stream, {RecordKind::kUnmap, Function::kMunmap, 0x7f0000000000 + pick(64) * 4096, 8192});
        break;
      case 2:
        writer_->write(stream, {RecordKind::kRelease, Function::kRealloc, address, 0, stack()});
        writer_->write(stream, {RecordKind::kUndo, Function::kRealloc, address, 0, stack()});
        break;
      case 16:
      case 17:
        do_something_named(stream, address);
        break;
      case 3:
      case 4:
      case 5:
      case 6:
      case 7:
        writer_->write(stream, {RecordKind::kRelease, Function::kFree, address, 0, stack()});
        break;
      default:
        writer_->write(stream, {RecordKind::kAllocate, Function::kMalloc, address, pick(5000), stack()});
        break;
    }
  }

  // Of a program that makes no mistakes, in a log that misses nothing.
  void do_something_right() {
    const Stream stream = streams_[pick(streams_.size())];
    const uint64_t address = 0x10000 + pick(400) * 16;
    if (live_.erase(address) > 0) {
      writer_->write(stream, {RecordKind::kRelease, Function::kFree, address, 0, stack()});
    } else {
      writer_->write(stream, {RecordKind::kAllocate, Function::kMalloc, address, pick(5000), stack()});
      live_.insert(address);
    }
  }

  // What the program tells of itself: tags, pools, resources, words.
  void do_something_named(Stream stream, uint64_t address) {
    const uint64_t pooled = wire::make_pooled_size(1 + static_cast<uint32_t>(pick(3)), 8 * pick(50));
    const uint32_t tagged = writer_->with_label(stack(), labels_[pick(labels_.size())]);
    switch (pick(8)) {
      case 0:
        writer_->write(stream, {RecordKind::kPoolAllocate, Function::kPoolAllocate, address, pooled,
                                writer_->with_label(stack(), pool_)});
        break;
      case 1:
        writer_->write(stream, {RecordKind::kPoolRelease, Function::kPoolRelease, address, pooled, stack()});
        break;
      case 2:
        writer_->write(stream, {RecordKind::kPoolDestroy, Function::kPoolDestroy, 0, pooled, stack()});
        break;
      case 3:
        writer_->write(stream, {RecordKind::kPoolAllocate, Function::kResourceOpen, address, pooled,
                                writer_->with_label(stack(), resource_)});
        break;
      case 4:
        writer_->write_text(stream, wire::NoteKind::kBlockName, address, "block " + std::to_string(pick(20)));
        break;
      case 5:
        say(stream);
        break;
      default:
        writer_->write(stream, {RecordKind::kAllocate, Function::kMalloc, address, pick(5000), tagged});
        break;
    }
  }

  void say(Stream stream) {
    if (pick(10) > 0) return writer_->write_text(stream, wire::NoteKind::kMark, 0, "phase " + std::to_string(pick(9)));
    writer_->write_text(stream, wire::NoteKind::kSwitchedOff, 0, "");
    writer_->write_text(stream, wire::NoteKind::kSwitchedOn, 0, "");
  }

  uint64_t pick(uint64_t below) { return random_() % below; }

 private:
  // Of the few frames that a program's stacks share; or what no writer makes.
  uint32_t stack() {
    if (pick(200) == 0) return 4'000'000'000;
    if (pick(200) == 0) return odd_node();
    std::vector<uint64_t> codes;
    for (uint64_t frame = 2 + pick(6); frame > 0; --frame) codes.push_back(0x100000 + pick(8) * frame * 16 + pick(2));
    if (pick(20) == 0) codes[0] |= wire::kCodeExact;
    if (pick(20) == 0) codes[1] |= uint64_t{5} << 48;
    return writer_->intern(codes, static_cast<wire::StackEnd>(pick(4)));
  }

  // A node that names itself, or a code that there is none of. It is the same whenever it is looked at, and none that the writer
  // comes to.
  uint32_t odd_node() {
    auto* const nodes = const_cast<wire::StackNode*>(written_.part<wire::StackNode>(written_.header().nodes_offset));
    const uint32_t number = written_.header().node_capacity - 1 - static_cast<uint32_t>(pick(100));
    nodes[number].store(number % 2 == 0 ? wire::make_node(number, 1) : wire::make_node(2, 0xfffffff0));
    return number;
  }

  test::WrittenLog written_;
  std::unique_ptr<LogWriter> writer_;
  std::vector<Stream> streams_;
  std::vector<uint32_t> labels_;
  std::set<uint64_t> live_;  // addresses
  uint32_t pool_ = 0;
  uint32_t resource_ = 0;
  std::mt19937_64 random_{41};
  uint64_t modules_ = 0;
};

class EventStreamTest : public testing::Test {
 protected:
  void work(unsigned events) {
    if (log_.pick(2) == 0) log_.add_module();
    for (unsigned i = 0; i < events; ++i) log_.do_something();
  }

  BusyLog log_;
  TotalsCollector no_totals_{log_.parts()};
  MappedStream mapped_{log_.parts(), no_totals_, {.process = getpid(), .has_agent = false}};
};

TEST_F(EventStreamTest, TheSameTraceComesOfBothForms) {
  Tap tap(mapped_, {.time_step_ns = 0});
  ReceivedStream received;
  MadeTrace here("here", tap);
  MadeTrace there("there", received);
  const auto send = [&] {
    const std::vector<uint8_t> bytes = tap.sent();
    for (std::span<const uint8_t> rest = bytes; !rest.empty();) {
      const size_t piece = std::min<size_t>(rest.size(), 1 + log_.pick(5000));
      received.receive(rest.first(piece));
      rest = rest.subspan(piece);
    }
  };
  for (unsigned round = 0; round < 30; ++round) {
    work(1 + static_cast<unsigned>(log_.pick(2000)));
    const uint64_t bytes = here.maker().take_next();
    send();
    EXPECT_EQ(there.maker().take_next(), bytes);
    if (round % 7 == 0) here.maker().write_frame();
    if (round % 7 == 0) there.maker().write_frame();
  }
  here.finish();
  send();
  there.finish();
  EXPECT_EQ(received.failure(), "");
  EXPECT_GT(here.maker().event_count(), 10'000u);
  EXPECT_GT(here.maker().tables().stacks.size(), 1'000u);
  EXPECT_EQ(here.maker().tables().threads.size(), 3u);
  EXPECT_GT(here.maker().tables().modules.size(), 5u);
  EXPECT_EQ(here.maker().tables().labels.size(), 6u);
  EXPECT_GT(here.maker().marks().size(), 20u);
  EXPECT_EQ(here.maker().marks(), there.maker().marks());
  EXPECT_TRUE(here.bytes() == there.bytes());  // megabytes, of which a picture says nothing
}

// Events without what a file may leave out.
class Events : public model::EventSink {
 public:
  void on_batch(const model::EventBatch& batch, const model::Tables& /*tables*/) override {
    for (const model::Event& event : batch.events) all.emplace_back(event.site, event.thread, event.size_or_block);
  }
  std::vector<std::tuple<model::SiteId, model::ThreadId, uint64_t>> all;
};

TEST_F(EventStreamTest, AFollowerGetsWhatTheTraceGets) {
  MadeTrace made("followed", mapped_);
  test::MemorySource live({});
  made.maker().follow(live);
  for (unsigned round = 0; round < 5; ++round) {
    work(1000);
    made.maker().take_next();
  }
  made.finish();
  auto file = trace::TraceReader::open(made.path());
  ASSERT_TRUE(file.has_value());
  Events written;
  Events followed;
  ASSERT_TRUE(file->replay(written));
  ASSERT_TRUE(live.replay(followed, {}));
  EXPECT_GT(followed.all.size(), 5000u);
  EXPECT_EQ(followed.all, written.all);
  EXPECT_EQ(live.tables().stacks.size(), file->tables().stacks.size());
}

TEST_F(EventStreamTest, TimesInStepsChangeNothingElse) {
  Tap tap(mapped_);
  ReceivedStream received;
  MadeTrace here("here", tap);
  MadeTrace there("there", received);
  for (unsigned round = 0; round < 20; ++round) {
    for (unsigned i = 0; i < 500; ++i) log_.do_something_right();
    here.maker().take_next();
    received.receive(tap.sent());
    there.maker().take_next();
  }
  here.finish();
  received.receive(tap.sent());
  there.finish();
  Events exact;
  Events in_steps;
  ASSERT_TRUE(trace::TraceReader::open(here.path())->replay(exact));
  ASSERT_TRUE(trace::TraceReader::open(there.path())->replay(in_steps));
  EXPECT_GT(exact.all.size(), 9'000u);
  EXPECT_EQ(exact.all, in_steps.all);
  EXPECT_EQ(there.maker().coder().missed_releases(), 0u);
}

bool is_same(const wire::RawEvent& a, const wire::RawEvent& b) {
  return a.time == b.time && a.tagged_address == b.tagged_address && a.size_bytes == b.size_bytes &&
         a.stack == b.stack && a.thread == b.thread;
}

// All of it as it was sent, from the start.
class SentStreamTest : public EventStreamTest {
 protected:
  std::vector<uint8_t> sent() {
    Tap tap(mapped_);
    work(300);
    log::RawEvents events;
    tap.drain(events, true);
    work(20);
    tap.drain(events, true);
    return tap.sent();
  }
  static log::RawEvents events_of(ReceivedStream& stream) {
    log::RawEvents events;
    while (!stream.state().is_empty) stream.drain(events, true);
    return events;
  }
};

TEST_F(SentStreamTest, NothingIsTakenOfAFrameBeforeItIsWhole) {
  const std::vector<uint8_t> bytes = sent();
  ReceivedStream all;
  all.receive(bytes);
  const size_t count = events_of(all).size();
  ReceivedStream stream;
  log::RawEvents events;
  for (const uint8_t byte : bytes) {
    stream.receive({&byte, 1});
    stream.drain(events, false);
  }
  EXPECT_EQ(stream.failure(), "");
  EXPECT_EQ(events.size(), count);
  EXPECT_GE(count, 320u);
}

TEST_F(SentStreamTest, WhatIsDamagedIsMissingAndTold) {
  const std::vector<uint8_t> bytes = sent();
  ReceivedStream sound;
  sound.receive(bytes);
  const log::RawEvents expected = events_of(sound);
  constexpr size_t kReserved = 13;  // of the head: for later versions
  for (size_t at = 0; at < bytes.size(); at += at < 300 ? 1 : 97) {
    if (at >= kReserved && at < kRawStreamHeadBytes) continue;
    std::vector<uint8_t> damaged = bytes;
    damaged[at] ^= 0x10;
    ReceivedStream stream;
    stream.receive(damaged);
    const log::RawEvents events = events_of(stream);
    ASSERT_LT(events.size(), expected.size()) << at;
    EXPECT_TRUE(std::ranges::equal(events, std::span(expected).first(events.size()), is_same)) << at;
    const bool waits = stream.failure().empty();  // for a frame that claims to be longer
    EXPECT_NE(waits, (stream.state().gaps & model::kGapDamagedLog) != 0) << at;
  }
}

TEST_F(SentStreamTest, AFrameThatIsMissingEndsTheStream) {
  const std::vector<uint8_t> bytes = sent();
  wire::FrameHead head;
  ASSERT_TRUE(wire::read_frame_head(bytes.data() + kRawStreamHeadBytes, head));
  std::vector<uint8_t> rest(bytes.begin(), bytes.begin() + kRawStreamHeadBytes);
  rest.insert(rest.end(), bytes.begin() + kRawStreamHeadBytes + wire::kFrameHeadBytes + head.stored_bytes, bytes.end());
  ReceivedStream stream;
  stream.receive(rest);
  EXPECT_TRUE(events_of(stream).empty());
  EXPECT_NE(stream.failure(), "");
}

}  // namespace
}  // namespace heaptap::stream
