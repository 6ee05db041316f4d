#include "capture/tracer/log_writer.h"

#include <sys/mman.h>

#include <utility>
#include <vector>

#include "capture/log/label_table.h"
#include "capture/log/mapped_log.h"
#include "capture/log/stack_table.h"
#include "capture/tracer/module_list.h"
#include "common/base/sizes.h"
#include "common/wire/log_layout.h"
#include "common/wire/log_streams.h"
#include "common/wire/stack_areas.h"

namespace heaptap::tracer {

struct LogWriter::State {
  State(wire::LogHeader& header, const wire::LogLayout& layout)
      : log(header),
        bytes(base::size_of_known(layout.total_bytes)),
        streams(header, layout),
        stacks(header, layout),
        labels(header, layout),
        stack_areas(header, layout),
        modules(header, layout),
        late_rows(header, layout) {}
  ~State() { munmap(&log, bytes); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  wire::LogHeader& log;
  const size_t bytes;
  wire::LogStreams<log::MappedLog> streams;
  log::StackTable stacks;
  log::LabelTable labels;
  wire::StackAreaTable stack_areas;
  ModuleList modules;
  const wire::LateRowsReader late_rows;
  std::vector<std::unique_ptr<wire::LogStream>> known_streams;
  std::vector<wire::LogStream*> unused_streams;
};

std::unique_ptr<LogWriter> LogWriter::create(wire::LogHeader* log, size_t bytes) {
  wire::CheckedLayout layout{};
  if (log == nullptr || bytes < sizeof(wire::LogHeader) || !wire::copy_layout(*log, bytes, layout)) return nullptr;
  if (layout.log.totals_offset != 0 || layout.log.chunk_count == 0) return nullptr;
  log->agent_state.store(static_cast<uint32_t>(wire::AgentState::kRecording), std::memory_order_release);
  return std::unique_ptr<LogWriter>(new LogWriter(std::make_unique<State>(*log, layout.log)));
}

LogWriter::LogWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
LogWriter::~LogWriter() = default;

wire::LogHeader& LogWriter::header() const { return state_->log; }

const wire::LateRowsReader& LogWriter::late_rows() const { return state_->late_rows; }

void LogWriter::note_stack(const wire::StackArea& area) { state_->stack_areas.note(area); }

void LogWriter::forget_stack(uint64_t begin) { state_->stack_areas.forget(begin); }

wire::LogStream* LogWriter::open_stream(uint32_t kernel_thread_id) {
  if (state_->unused_streams.empty()) {
    state_->known_streams.push_back(std::make_unique<wire::LogStream>());
    state_->unused_streams.push_back(state_->known_streams.back().get());
  }
  wire::LogStream* const stream = state_->unused_streams.back();
  if (!state_->streams.begin(*stream, {.id = kernel_thread_id, .number = 0}, 0)) return nullptr;
  wire::end_activity(*stream->slot);
  state_->unused_streams.pop_back();
  return stream;
}

void LogWriter::end_stream(wire::LogStream* stream) {
  if (stream == nullptr) return;
  state_->streams.end(*stream);
  *stream = {};
  state_->unused_streams.push_back(stream);
}

void LogWriter::write(wire::LogStream* stream, const Event& event) {
  if (!wire::is_recorded(state_->log, event.kind)) return;
  if (stream == nullptr) {
    state_->log.lost_events.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  wire::begin_activity(*stream->slot);
  if (wire::has_room(*stream) || state_->streams.next_chunk(*stream, event.time)) {
    const uint64_t now = event.time != 0 ? event.time : state_->streams.log().time_in_order();
    const uint64_t tagged_address =
        wire::make_tagged_address(event.kind, static_cast<uint8_t>(event.function), event.address);
    const uint32_t stack = wire::is_switched_off(state_->log) ? root(wire::StackEnd::kNotUnwound) : event.stack;
    wire::write_record(*stream, now, tagged_address, event.size_bytes, stack);
  }
  wire::end_activity(*stream->slot);
}

void LogWriter::write_text(wire::LogStream* stream, wire::NoteKind kind, uint64_t address, std::string_view text) {
  const auto detached = static_cast<uint32_t>(wire::RecordingSwitch::kDetached);
  if (stream == nullptr || state_->log.recording_switch.load(std::memory_order_relaxed) == detached) return;
  text = text.substr(0, wire::kMaxNoteTextBytes);
  wire::begin_activity(*stream->slot);
  if (wire::has_room_for_text(*stream, text.size()) || state_->streams.next_chunk(*stream, 0)) {
    wire::write_text_note(*stream, state_->streams.log().time_in_order(), kind, address, text.data(),
                          static_cast<uint32_t>(text.size()));
  }
  wire::end_activity(*stream->slot);
}

uint32_t LogWriter::label(uint32_t parent, wire::LabelKind kind, std::string_view name) {
  return state_->labels.find_or_add(parent, kind, name);
}

uint32_t LogWriter::parent_of_label(uint32_t label) const { return state_->labels.parent_of(label); }

uint32_t LogWriter::with_label(uint32_t stack, uint32_t label) { return state_->stacks.with_label(stack, label); }

uint32_t LogWriter::add_module(const LoadedObject& object) { return state_->modules.add(object); }

uint32_t LogWriter::intern(std::span<const uint64_t> entries, wire::StackEnd end) {
  uint32_t number = root(end);
  for (size_t i = entries.size(); i > 0; --i) number = intern(number, entries[i - 1]);
  return number;
}

uint32_t LogWriter::root(wire::StackEnd end) { return static_cast<uint32_t>(end); }

uint32_t LogWriter::intern(uint32_t parent, uint64_t entry) { return state_->stacks.intern(parent, entry); }

}  // namespace heaptap::tracer
