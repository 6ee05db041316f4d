// Writer of one stream of a log: position of the next record, and how records and notes are written. Freestanding; used
// by agent, tracer and tests. The reader is capture/log/log_reader.cc.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "common/wire/log.h"

namespace heaptap::wire {

// Stream of one thread, or of a signal handler that interrupted it. Used by that thread alone.
struct LogStream {
  StreamSlot* slot;
  ChunkHeader* chunk;
  uint8_t* cursor;  // where the next record goes
  uint8_t* end;     // of the chunk
  uint64_t base_time;
};

// Absolute clock value that later times of the chunk count from.
struct ClockNote {
  Record head;
  uint64_t clock;
};
static_assert(sizeof(ClockNote) == 24);

// Maximum bytes of one event, with a clock note before it.
inline constexpr size_t kMaxRecordBytes = sizeof(SizedRecord) + sizeof(ClockNote);

inline bool has_room(const LogStream& stream) {
  return static_cast<size_t>(stream.end - stream.cursor) >= kMaxRecordBytes;
}

// The following functions require that room.

// Writes a record after the last one, without committing it. Returns the position of the next one.
inline __attribute__((always_inline)) uint8_t* place_record(LogStream& stream, uint64_t tagged_address,
                                                            uint64_t size_bytes, uint32_t ticks, uint32_t stack) {
  auto* const to = reinterpret_cast<SizedRecord*>(stream.cursor);
  to->head.time = ticks;
  to->head.stack = stack;
  to->head.tagged_address = tagged_address;
  const uint32_t bytes = record_bytes(record_kind(tagged_address));
  if (bytes == sizeof(SizedRecord)) to->size_bytes = size_bytes;
  return stream.cursor += bytes;
}

// Commits what stands before the cursor.
inline __attribute__((always_inline)) void commit(LogStream& stream) {
  const auto committed = static_cast<uint32_t>(stream.cursor - reinterpret_cast<uint8_t*>(stream.chunk));
  stream.chunk->committed.store(committed, std::memory_order_release);  // pairs with the collector's acquire
}

inline void place_clock_note(LogStream& stream, uint64_t now) {
  constexpr uint64_t kKind = make_tagged_address(RecordKind::kNote, static_cast<uint8_t>(NoteKind::kClock), 0);
  const ClockNote note{{0, sizeof(uint64_t), kKind}, now};
  __builtin_memcpy(stream.cursor, &note, sizeof(note));
  stream.cursor += sizeof(note);
  stream.base_time = now;
}

// The 32-bit time field of the next record for this time: if the chunk's base is too old, a clock note sets a new one.
inline uint32_t ticks_at(LogStream& stream, uint64_t now) {
  const uint64_t ticks = now - stream.base_time;
  if (ticks <= UINT32_MAX) [[likely]]
    return static_cast<uint32_t>(ticks);
  if (now >= stream.base_time) place_clock_note(stream, now);
  return 0;  // a shared reading, or one taken before the chunk was begun
}

constexpr uint32_t padded_text_bytes(size_t text_bytes) {
  return (static_cast<uint32_t>(text_bytes) + 7) & ~uint32_t{7};
}

inline bool has_room_for_text(const LogStream& stream, size_t text_bytes) {
  return static_cast<size_t>(stream.end - stream.cursor) >=
         sizeof(Record) + sizeof(ClockNote) + padded_text_bytes(text_bytes);
}

// Writes a note with a text of at most kMaxNoteTextBytes; the caller ensures the room.
inline void write_text_note(LogStream& stream, uint64_t now, NoteKind kind, uint64_t address, const char* text,
                            uint32_t text_bytes) {
  const uint32_t ticks = ticks_at(stream, now);
  const uint32_t padded = padded_text_bytes(text_bytes);
  const Record head{ticks, padded, make_tagged_address(RecordKind::kNote, static_cast<uint8_t>(kind), address)};
  __builtin_memcpy(stream.cursor, &head, sizeof(head));
  uint8_t* const body = stream.cursor + sizeof(head);
  if (padded > 0) __builtin_memset(body + padded - 8, 0, 8);
  __builtin_memcpy(body, text, text_bytes);
  stream.cursor = body + padded;
  commit(stream);
}

inline void write_record(LogStream& stream, uint64_t now, uint64_t tagged_address, uint64_t size_bytes,
                         uint32_t stack) {
  const uint32_t ticks = ticks_at(stream, now);
  place_record(stream, tagged_address, size_bytes, ticks, stack);
  commit(stream);
}

}  // namespace heaptap::wire
