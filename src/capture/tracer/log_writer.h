// Writer of a traced process's log, in place of an agent (common/wire/log.h): streams, records, modules, codes and the trie of
// stacks. Used by the tracer's one thread; the collector drains at the other end.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "capture/tracer/loaded_objects.h"
#include "common/wire/labels.h"
#include "common/wire/late_rows.h"
#include "common/wire/log.h"
#include "common/wire/log_stream.h"

namespace heaptap::tracer {

class LogWriter {
 public:
  // Takes over the mapping of `bytes` at `log`. Null: no writable log of records; the mapping stays the caller's.
  static std::unique_ptr<LogWriter> create(wire::LogHeader* log, size_t bytes);
  ~LogWriter();
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  [[nodiscard]] wire::LogHeader& header() const;
  // Late unwind rows.
  [[nodiscard]] const wire::LateRowsReader& late_rows() const;

  // Null: no room for another; its events are counted as lost.
  wire::LogStream* open_stream(uint32_t kernel_thread_id);
  void end_stream(wire::LogStream* stream);

  // `time` 0: now. Waits for room according to the log's options, bounded; events without room are counted as lost.
  struct Event {
    wire::RecordKind kind;
    wire::Function function;
    uint64_t address;
    uint64_t size_bytes = 0;
    uint32_t stack = 0;
    uint64_t time = 0;
  };
  void write(wire::LogStream* stream, const Event& event);

  // The program's own stacks (common/wire/exit_handshake.h).
  void note_stack(const wire::StackArea& area);
  void forget_stack(uint64_t begin);

  // Adds a loaded module. Returns the generation of its range (wire::CodeEntry): incremented where another object was there before.
  uint32_t add_module(const LoadedObject& object);

  // `entries` as wire::CodeEntry, innermost first. Returns the stack's number.
  uint32_t intern(std::span<const uint64_t> entries, wire::StackEnd end);
  // As above in steps, from the outermost frame: the root, then one more frame at a time.
  static uint32_t root(wire::StackEnd end);
  uint32_t intern(uint32_t parent, uint64_t entry);
  // Writes a text of the program, also while recording is switched off.
  void write_text(wire::LogStream* stream, wire::NoteKind kind, uint64_t address, std::string_view text);
  // Adds a label of the program. Returns its number, wire::kNoLabel where there is no room.
  uint32_t label(uint32_t parent, wire::LabelKind kind, std::string_view name);
  [[nodiscard]] uint32_t parent_of_label(uint32_t label) const;
  uint32_t with_label(uint32_t stack, uint32_t label);

 private:
  struct State;
  explicit LogWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace heaptap::tracer
