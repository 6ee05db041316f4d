// What the tracer writes into a log, read back as the collector does it.
#include "capture/tracer/log_writer.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <thread>

#include "capture/log/area_reader.h"
#include "capture/log/log_reader.h"
#include "capture/stream/mapped_stream.h"
#include "common/arch/native.h"
#include "common/frames/table_frames.h"
#include "record/ingest/event_coder.h"
#include "written_log.h"

namespace heaptap::tracer {
namespace {

using wire::Function;
using wire::RawEvent;
using wire::RecordKind;

class LogWriterTest : public ::testing::Test {
 protected:
  void make(const log::LogOptions& options = {}) {
    written_ = std::make_unique<test::WrittenLog>(options);
    reader_ = std::make_unique<log::LogReader>(written_->parts());
    writer_ = written_->writer();
    ASSERT_NE(writer_, nullptr);
  }
  wire::LogHeader& log() const { return written_->header(); }

  log::RawEvents drain(bool last = true) {
    log::RawEvents all;
    do {
      log::RawEvents events;
      reader_->drain(events, last);
      all.insert(all.end(), events.begin(), events.end());
    } while (reader_->has_unread());
    return all;
  }
  static LogWriter::Event allocation(uint64_t address, uint64_t size = 8, uint32_t stack = 0) {
    return {RecordKind::kAllocate, Function::kMalloc, address, size, stack};
  }
  static LogWriter::Event release(uint64_t address) { return {RecordKind::kRelease, Function::kFree, address}; }

  std::unique_ptr<test::WrittenLog> written_;
  std::unique_ptr<log::LogReader> reader_;
  std::unique_ptr<LogWriter> writer_;
};

TEST_F(LogWriterTest, EventsComeBackAsTheyWereWritten) {
  make();
  EXPECT_EQ(log().agent_state.load(), static_cast<uint32_t>(wire::AgentState::kRecording));
  wire::LogStream* stream = writer_->open_stream(4711);
  ASSERT_NE(stream, nullptr);
  const uint64_t before = arch::native::read_clock();
  const std::vector<LogWriter::Event> written{
      allocation(0x1000, 48, 9),
      release(0x1000),
      {RecordKind::kUndo, Function::kRealloc, 0x1000},
      {RecordKind::kMap, Function::kMmap, 0x7f0000000000, 4096, 3},
      {RecordKind::kUnmap, Function::kMunmap, 0x7f0000000000, 4096, 3},
  };
  for (const LogWriter::Event& event : written) writer_->write(stream, event);
  const uint64_t after = arch::native::read_clock();

  const log::RawEvents read = drain();
  ASSERT_EQ(read.size(), written.size());
  for (size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].kind(), written[i].kind);
    EXPECT_EQ(read[i].function(), static_cast<uint8_t>(written[i].function));
    EXPECT_EQ(read[i].address(), written[i].address);
    EXPECT_EQ(read[i].size_bytes, written[i].size_bytes);
    EXPECT_EQ(read[i].stack, written[i].stack);
    EXPECT_EQ(read[i].thread, 1u);
    EXPECT_GE(read[i].time, before);
    EXPECT_LE(read[i].time, after);
  }
  const auto threads = reader_->take_new_threads();
  ASSERT_EQ(threads.size(), 1u);
  EXPECT_EQ(threads[0].thread_id, 4711u);
}

TEST_F(LogWriterTest, EventsGoOnThroughManyChunksWhileTheCollectorDrains) {
  log::LogOptions options;
  options.chunk_memory_bytes = uint64_t{64} * wire::kChunkBytes;
  make(options);
  constexpr uint64_t kEvents = 200'000;
  std::thread writing([this] {
    wire::LogStream* stream = writer_->open_stream(1);
    for (uint64_t i = 1; i <= kEvents; ++i) writer_->write(stream, allocation(i * 16, i));
    writer_->end_stream(stream);
  });
  uint64_t seen = 0;
  const auto take = [&](const log::RawEvents& events) {
    for (const RawEvent& event : events) ASSERT_EQ(event.size_bytes, ++seen);
  };
  while (seen < kEvents) take(drain(false));
  writing.join();
  take(drain());
  EXPECT_EQ(seen, kEvents);
  EXPECT_EQ(reader_->lost_events(), 0u);
  EXPECT_EQ(log().used_chunks.load(), 0u);
}

TEST_F(LogWriterTest, DroppedEventsAreCounted) {
  log::LogOptions options;
  options.chunk_memory_bytes = 0;  // the fewest that there are
  options.overflow_policy = wire::OverflowPolicy::kDrop;
  make(options);
  wire::LogStream* stream = writer_->open_stream(1);
  constexpr uint64_t kEvents = 100'000;
  for (uint64_t i = 1; i <= kEvents; ++i) writer_->write(stream, allocation(i * 16));
  const uint64_t kept = drain().size();
  EXPECT_LT(kept, kEvents);
  EXPECT_EQ(kept + reader_->lost_events(), kEvents);
  // With chunks back, it goes on.
  writer_->write(stream, allocation(16));
  EXPECT_EQ(drain().size(), 1u);
}

TEST_F(LogWriterTest, AWaitForRoomIsBoundedAndIsntRepeatedInVain) {
  log::LogOptions options;
  options.chunk_memory_bytes = 0;
  make(options);
  log().overflow_wait_ms = 50;
  wire::LogStream* stream = writer_->open_stream(1);
  constexpr uint64_t kEvents = 100'000;
  for (uint64_t i = 1; i <= kEvents; ++i) writer_->write(stream, allocation(i * 16));
  const uint64_t kept = drain().size();
  EXPECT_LT(kept, kEvents);
  EXPECT_EQ(kept + reader_->lost_events(), kEvents);
}

TEST_F(LogWriterTest, EventsWithoutAStreamAreCountedAsLost) {
  make();
  writer_->write(nullptr, allocation(16));
  writer_->write(nullptr, release(16));
  EXPECT_EQ(reader_->lost_events(), 2u);
}

TEST_F(LogWriterTest, ThousandsOfThreadsComeAndGo) {
  make();
  constexpr uint32_t kThreads = 3000;
  std::vector<wire::LogStream*> open;
  uint64_t seen = 0;
  std::map<uint32_t, uint32_t> threads;
  for (uint32_t i = 1; i <= kThreads; ++i) {
    open.push_back(writer_->open_stream(100'000 + i));
    ASSERT_NE(open.back(), nullptr);
    writer_->write(open.back(), allocation(uint64_t{i} * 16));
    if (i % 3 == 0) {
      writer_->end_stream(open.front());
      open.erase(open.begin());
    }
    if (i % 500 == 0) seen += drain().size();
  }
  for (wire::LogStream* stream : open) writer_->end_stream(stream);
  seen += drain().size();
  EXPECT_EQ(seen, kThreads);
  for (const auto& thread : reader_->take_new_threads()) threads[thread.thread_number] = thread.thread_id;
  EXPECT_EQ(threads.size(), kThreads);
  for (uint32_t i = 1; i <= kThreads; ++i) EXPECT_EQ(threads[i], 100'000 + i);
  EXPECT_EQ(log().used_chunks.load(), 0u);
  EXPECT_LT(log().slots_used.load(), kThreads) << "slots are used again";
}

TEST_F(LogWriterTest, ALongPauseGetsAClockNote) {
  make();
  wire::LogStream* stream = writer_->open_stream(1);
  const uint64_t start = arch::native::read_clock();
  LogWriter::Event event = allocation(16);
  for (const uint64_t later : {0ull, 5ull << 32, 6ull << 32, (6ull << 32) + 7, 20ull << 32}) {
    event.time = start + later + 1000;
    writer_->write(stream, event);
  }
  const log::RawEvents read = drain();
  ASSERT_EQ(read.size(), 5u);
  EXPECT_EQ(read[1].time - read[0].time, 5ull << 32);
  EXPECT_EQ(read[2].time - read[0].time, 6ull << 32);
  EXPECT_EQ(read[3].time - read[2].time, 7u);
  EXPECT_EQ(read[4].time - read[0].time, 20ull << 32);
}

TEST_F(LogWriterTest, AStackIsWrittenOnce) {
  make();
  const std::vector<uint64_t> codes{0x1003, 0x1002, 0x1001 | wire::kCodeExact};
  const uint32_t number = writer_->intern(codes, wire::StackEnd::kComplete);
  EXPECT_EQ(written_->stack(number).codes, codes);
  EXPECT_EQ(written_->stack(number).end, wire::StackEnd::kComplete);
  const uint32_t nodes = log().node_count.load();
  EXPECT_EQ(writer_->intern(codes, wire::StackEnd::kComplete), number);
  EXPECT_EQ(log().node_count.load(), nodes);
  const uint32_t other = writer_->intern(codes, wire::StackEnd::kUnreadable);
  EXPECT_NE(other, number);
  EXPECT_EQ(written_->stack(other).end, wire::StackEnd::kUnreadable);
  EXPECT_EQ(log().code_count.load(), 3u);
}

TEST_F(LogWriterTest, ManyStacksAreAllFoundAgain) {
  make();
  std::vector<uint32_t> numbers;
  for (uint64_t i = 0; i < 50'000; ++i) {
    numbers.push_back(writer_->intern(std::vector<uint64_t>{0x1000 + i % 700, 0x2000 + i / 700}, wire::StackEnd{}));
  }
  const uint32_t nodes = log().node_count.load();
  for (uint64_t i = 0; i < numbers.size(); ++i) {
    ASSERT_EQ(numbers[i], writer_->intern(std::vector<uint64_t>{0x1000 + i % 700, 0x2000 + i / 700}, wire::StackEnd{}));
  }
  EXPECT_EQ(log().node_count.load(), nodes);
}

TEST_F(LogWriterTest, AFullTableOfStacksIsSaid) {
  make();
  log().usable_nodes = 10;
  writer_ = written_->writer();
  ASSERT_NE(writer_, nullptr);
  uint32_t last = 0;
  for (uint64_t i = 0; i < 5; ++i) last = writer_->intern(LogWriter::root(wire::StackEnd::kComplete), 0x1000 + i);
  EXPECT_EQ(last, static_cast<uint32_t>(wire::StackEnd::kTableFull));
  EXPECT_NE(log().was_without_node.load(), 0u);
  log().usable_nodes = UINT32_MAX;
  last = writer_->intern(LogWriter::root(wire::StackEnd::kComplete), 0x2000);
  EXPECT_GE(last, 10u) << "once the collector permits more";
}

TEST_F(LogWriterTest, AModuleInAnothersPlaceGetsTheNextGeneration) {
  make();
  LoadedObject first;
  first.path = "/lib/a.so";
  first.start = 0x10000;
  first.end = 0x20000;
  first.build_id_bytes = 20;
  first.flags = wire::kModuleIsMain;
  LoadedObject second = first;
  second.path = "/lib/b.so";
  second.end = 0x30000;
  EXPECT_EQ(writer_->add_module(first), 0u);
  const uint32_t bytes = log().modules_bytes.load();
  EXPECT_EQ(bytes, 64u + 16u);
  EXPECT_EQ(writer_->add_module(second), 1u);
  EXPECT_EQ(writer_->add_module(first), 0u) << "it means what it meant";
  EXPECT_EQ(log().modules_bytes.load(), 2 * bytes);
  wire::ModuleNote note;
  std::memcpy(&note, written_->part<uint8_t>(log().modules_offset) + bytes, sizeof(note));
  EXPECT_EQ(note.generation, 1u);
  EXPECT_EQ(note.end, second.end);
  EXPECT_EQ(note.path_bytes, second.path.size());
}

// The log's memory is shared: what it says of itself leads nowhere else.
TEST_F(LogWriterTest, ModulesAreNotedNowhereElseWhateverTheLogSays) {
  make();
  LoadedObject object;
  object.path = "/lib/a.so";
  object.end = 0x1000;
  for (const uint64_t at : {log().modules_capacity - 8, log().modules_capacity + 8, uint64_t{UINT32_MAX}}) {
    const uint32_t before = log().module_overflow.load();
    log().modules_bytes.store(static_cast<uint32_t>(at));
    object.start += 8;
    writer_->add_module(object);
    EXPECT_EQ(log().modules_bytes.load(), static_cast<uint32_t>(at));
    EXPECT_EQ(log().module_overflow.load(), before + 1);
  }
}

TEST_F(LogWriterTest, TheNewestOfTooManyStacksIsTold) {
  make();
  wire::StackArea area{.begin = 0, .end = 0, .context = 0, .thread_id = 1, .kind = wire::RootKind::kAlternateStack};
  for (uint32_t i = 0; i <= 2 * log().stack_area_capacity; ++i) {
    area.begin += 0x10000;
    area.end = area.begin + 0x8000;
    writer_->note_stack(area);
  }
  EXPECT_GT(log().stack_area_overflow.load(), 0u);
  const std::vector<wire::StackArea> told = log::read_stack_areas(written_->parts());
  EXPECT_TRUE(std::ranges::any_of(told, [&](const wire::StackArea& one) { return one.begin == area.begin; }));
}

TEST_F(LogWriterTest, ALogThatFillsWakesACollectorThatRests) {
  make();
  writer_->write(writer_->open_stream(1), allocation(16));
  reader_->rest();
  wire::LogStream* stream = writer_->open_stream(2);
  for (uint64_t i = 1; log().rings.load() == 0 && i < 100'000; ++i) writer_->write(stream, allocation(i * 16));
  EXPECT_EQ(log().rings.load(), 1u);
  EXPECT_EQ(log().wake_threshold.load(), wire::kNeverWake);
}

TEST_F(LogWriterTest, TheTraceHasWhatWasWritten) {
  make();
  wire::LogStream* stream = writer_->open_stream(1);
  const uint32_t stack = writer_->intern(std::vector<uint64_t>{0x1003, 0x1002}, wire::StackEnd::kComplete);
  writer_->write(stream, allocation(0x1000, 64, stack));
  writer_->write(stream, allocation(0x2000, 32, stack));
  writer_->write(stream, release(0x1000));
  log::RawEvents events = drain();

  model::Tables tables = frames::empty_tables();
  const std::span codes(written_->part<wire::CodeEntry>(log().codes_offset), log().code_capacity);
  const std::span nodes(written_->part<wire::StackNode>(log().nodes_offset), log().node_capacity);
  const stream::MappedTables agent(codes, nodes);
  ingest::EventCoder coder(agent, tables, 1000, true);
  model::EventBatch batch;
  EXPECT_EQ(coder.take(events, {}, 100, true, batch), 3u);
  std::vector<uint64_t> live;
  coder.blocks().for_each_live([&](uint64_t address, const auto&) { live.push_back(address); });
  EXPECT_EQ(live, std::vector<uint64_t>{0x2000});
  EXPECT_TRUE(batch.bad_releases.empty());
}

TEST_F(LogWriterTest, AHeaderThatPointsOutsideIsRefused) {
  make();
  const auto refuses = [this](auto wire::LogLayout::* field, uint64_t value) {
    auto& place = log().*field;
    const auto before = place;
    place = static_cast<std::remove_reference_t<decltype(place)>>(value);
    wire::LogHeader* mapping = written_->map();
    const bool refused = LogWriter::create(mapping, written_->bytes()) == nullptr;
    if (refused) munmap(mapping, written_->bytes());
    place = before;
    return refused;
  };
  EXPECT_TRUE(refuses(&wire::LogLayout::magic, 1));
  EXPECT_TRUE(refuses(&wire::LogLayout::version, 99));
  EXPECT_TRUE(refuses(&wire::LogLayout::total_bytes, 4096));
  EXPECT_TRUE(refuses(&wire::LogLayout::slot_count, 0));
  EXPECT_TRUE(refuses(&wire::LogLayout::slots_offset, written_->bytes()));
  EXPECT_TRUE(refuses(&wire::LogLayout::codes_offset, UINT64_MAX - 8));
  EXPECT_TRUE(refuses(&wire::LogLayout::node_capacity, UINT32_MAX));
  EXPECT_TRUE(refuses(&wire::LogLayout::chunks_offset, UINT64_MAX));
  EXPECT_TRUE(refuses(&wire::LogLayout::chunk_count, 0));
  EXPECT_TRUE(refuses(&wire::LogLayout::modules_capacity, UINT64_MAX));
  EXPECT_TRUE(refuses(&wire::LogLayout::late_rows_capacity, UINT64_MAX));
  EXPECT_FALSE(refuses(&wire::LogLayout::flags, 0));
}

}  // namespace
}  // namespace heaptap::tracer
