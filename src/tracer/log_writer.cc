#include "tracer/log_writer.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "log/log_streams.h"
#include "log/stack_table.h"
#include "tracer/module_notes.h"
#include "wire/log_layout.h"

namespace heaptap::tracer {
namespace {

// A record's time fits 32 bits: when the chunk's base is too long ago, a clock note sets a new one.
void write_clock_note(log::LogStream& stream, uint64_t now) {
  const auto kind = static_cast<uint8_t>(wire::NoteKind::kClock);
  struct {
    wire::Record head;
    uint64_t clock;
  } const note{{0, sizeof(uint64_t), wire::make_tagged_address(wire::RecordKind::kNote, kind, 0)}, now};
  std::memcpy(stream.cursor, &note, sizeof(note));
  stream.cursor += sizeof(note);
  stream.base_time = now;
}

uint32_t ticks_for(log::LogStream& stream, uint64_t now) {
  if (now < stream.base_time) return 0;  // an earlier time that was taken before the chunk was begun
  if (now - stream.base_time > UINT32_MAX) write_clock_note(stream, now);
  return static_cast<uint32_t>(now - stream.base_time);
}

// There is room for it.
void append(log::LogStream& stream, const LogWriter::Event& event, uint64_t now) {
  wire::SizedRecord record{};
  record.head.time = ticks_for(stream, now);
  record.head.stack = event.stack;
  record.head.tagged_address =
      wire::make_tagged_address(event.kind, static_cast<uint8_t>(event.function), event.address);
  record.size_bytes = event.size_bytes;
  const uint32_t bytes = wire::record_bytes(event.kind);
  std::memcpy(stream.cursor, &record, bytes);
  stream.cursor += bytes;
  const auto committed = static_cast<uint32_t>(stream.cursor - reinterpret_cast<uint8_t*>(stream.chunk));
  stream.chunk->committed.store(committed, std::memory_order_release);  // pairs with the collector's acquire
}

// In the place of the one that begins there; 0: of none. False: there is no such.
bool replace_stack(wire::LogHeader& log, uint64_t begin, const wire::StackArea& area) {
  auto* entries = reinterpret_cast<wire::StackAreaEntry*>(reinterpret_cast<uint8_t*>(&log) + log.stack_areas_offset);
  const std::span table(entries, log.stack_area_capacity);
  const auto entry = std::ranges::find_if(table, [&](const auto& other) { return other.area.begin == begin; });
  if (entry == table.end()) return false;
  const uint64_t version = entry->version.load(std::memory_order_relaxed);
  entry->version.store(version + 1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  entry->area = area;
  entry->version.store(version + 2, std::memory_order_release);  // pairs with the collector's acquire
  return true;
}

}  // namespace

struct LogWriter::State {
  State(wire::LogHeader& header, size_t size)
      : log(header), bytes(size), streams(header), stacks(header), modules(header) {}
  ~State() { munmap(&log, bytes); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  wire::LogHeader& log;
  const size_t bytes;
  log::LogStreams streams;
  log::StackTable stacks;
  ModuleNotes modules;
};

std::unique_ptr<LogWriter> LogWriter::create(wire::LogHeader* log, size_t bytes) {
  if (log == nullptr || bytes < sizeof(wire::LogHeader) || !wire::layout_is_sound(*log, bytes)) return nullptr;
  if (log->totals_offset != 0 || log->chunk_count == 0) return nullptr;
  log->agent_state.store(static_cast<uint32_t>(wire::AgentState::kRecording), std::memory_order_release);
  return std::unique_ptr<LogWriter>(new LogWriter(std::make_unique<State>(*log, bytes)));
}

LogWriter::LogWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
LogWriter::~LogWriter() = default;

wire::LogHeader& LogWriter::header() const { return state_->log; }

void LogWriter::note_stack(const wire::StackArea& area) {
  if (area.begin == 0) return;
  if (!replace_stack(state_->log, area.begin, area) && !replace_stack(state_->log, 0, area)) {
    state_->log.stack_area_overflow.fetch_add(1, std::memory_order_relaxed);
  }
}

void LogWriter::forget_stack(uint64_t begin) {
  if (begin != 0) replace_stack(state_->log, begin, {});
}

log::LogStream* LogWriter::open_stream(uint32_t kernel_thread_id) { return state_->streams.open(kernel_thread_id); }

void LogWriter::end_stream(log::LogStream* stream) {
  if (stream != nullptr) state_->streams.end(stream);
}

void LogWriter::write(log::LogStream* stream, const Event& event) {
  constexpr size_t kMaxBytes = sizeof(wire::SizedRecord) + sizeof(wire::Record) + sizeof(uint64_t);
  if (stream == nullptr) {
    state_->log.lost_events.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  if (state_->streams.reserve(*stream, kMaxBytes)) {
    wire::begin_activity(*stream->slot);
    append(*stream, event, event.time != 0 ? event.time : state_->streams.clock().event_time());
  } else {
    stream->slot->lost_events.fetch_add(1, std::memory_order_relaxed);
  }
  wire::end_activity(*stream->slot);
}

uint32_t LogWriter::add_module(const LoadedObject& object) { return state_->modules.add(object); }

uint32_t LogWriter::intern(std::span<const uint64_t> entries, wire::StackEnd end) {
  uint32_t number = root(end);
  for (size_t i = entries.size(); i > 0; --i) number = intern(number, entries[i - 1]);
  return number;
}

uint32_t LogWriter::root(wire::StackEnd end) { return static_cast<uint32_t>(end); }

uint32_t LogWriter::intern(uint32_t parent, uint64_t entry) { return state_->stacks.intern(parent, entry); }

}  // namespace heaptap::tracer
