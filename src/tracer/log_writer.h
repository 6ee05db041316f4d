// Writes a traced process's log as an agent would (wire/log.h): streams, records, modules, codes and the trie of stacks.
// Used by the tracer's one thread; the collector drains at the other end.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "tracer/loaded_objects.h"
#include "wire/labels.h"
#include "wire/late_rows.h"
#include "wire/log.h"
#include "wire/log_stream.h"

namespace heaptap::tracer {

class LogWriter {
 public:
  // Takes over the mapping of `bytes` at `log`. Null: it is no log of records that can be written; the mapping stays the
  // caller's.
  static std::unique_ptr<LogWriter> create(wire::LogHeader* log, size_t bytes);
  ~LogWriter();
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  [[nodiscard]] wire::LogHeader& header() const;
  // Rows for unwinding that come late.
  [[nodiscard]] const wire::LateRowsReader& late_rows() const;

  // Null: there is no room for another; its events are counted as lost.
  wire::LogStream* open_stream(uint32_t kernel_thread_id);
  void end_stream(wire::LogStream* stream);

  // `time` 0: now. Waits for room as the log's options say, bounded; what doesn't fit is counted as lost.
  struct Event {
    wire::RecordKind kind;
    wire::Function function;
    uint64_t address;
    uint64_t size_bytes = 0;
    uint32_t stack = 0;
    uint64_t time = 0;
  };
  void write(wire::LogStream* stream, const Event& event);

  // Stacks that the program set up for itself (wire/exit_handshake.h).
  void note_stack(const wire::StackArea& area);
  void forget_stack(uint64_t begin);

  // A module that came. Gives the generation of its range (wire::CodeEntry): counted up where another object was there.
  uint32_t add_module(const LoadedObject& object);

  // `entries` as wire::CodeEntry, innermost first. Gives the stack's number.
  uint32_t intern(std::span<const uint64_t> entries, wire::StackEnd end);
  // The same in steps, from the outermost frame on: the root, then one frame more.
  static uint32_t root(wire::StackEnd end);
  uint32_t intern(uint32_t parent, uint64_t entry);
  // What the program says in words, also where recording is switched off.
  void write_text(wire::LogStream* stream, wire::NoteKind kind, uint64_t address, std::string_view text);
  // Labels of the program's: by number, wire::kNoLabel where there is no room.
  uint32_t label(uint32_t parent, wire::LabelKind kind, std::string_view name);
  [[nodiscard]] uint32_t parent_of_label(uint32_t label) const;
  uint32_t with_label(uint32_t stack, uint32_t label);

 private:
  struct State;
  explicit LogWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace heaptap::tracer
