// Module notes in a log (ModuleNote): writing, and generations for objects mapped in turn at one address. Freestanding;
// single-threaded.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "common/wire/log.h"

namespace heaptap::wire {

inline constexpr size_t kMaxModulePathBytes = 4095;

// Writer of a log's module notes.
class ModuleNotes {
 public:
  constexpr ModuleNotes() = default;
  ModuleNotes(LogHeader& log, const LogLayout& layout)
      : log_(&log),
        notes_(reinterpret_cast<uint8_t*>(&log) + layout.modules_offset),
        capacity_(layout.modules_capacity) {}

  // `note` without `path_bytes`. Notes without room are counted. Never writes outside of the module area, even if the
  // program overwrites its length in the log.
  void add(ModuleNote note, const char* path, size_t path_bytes) {
    if (path_bytes > kMaxModulePathBytes) path_bytes = kMaxModulePathBytes;
    const size_t bytes = (sizeof(note) + path_bytes + 7) & ~size_t{7};
    const uint32_t at = log_->modules_bytes.load(std::memory_order_relaxed);
    if (at > capacity_ || bytes > capacity_ - at) return note_overflow();
    note.path_bytes = static_cast<uint16_t>(path_bytes);
    __builtin_memcpy(notes_ + at, &note, sizeof(note));
    __builtin_memcpy(notes_ + at + sizeof(note), path, path_bytes);
    log_->modules_bytes.store(at + static_cast<uint32_t>(bytes),
                              std::memory_order_release);  // pairs with the collector
  }
  void note_overflow() { log_->module_overflow.fetch_add(1, std::memory_order_relaxed); }

  // Copies the notes of another log before adding its own: a forked child inherits its parent's modules.
  void take_over(const LogHeader& before, const LogLayout& layout) {
    uint32_t bytes = before.modules_bytes.load(std::memory_order_acquire);
    if (bytes > layout.modules_capacity || bytes > capacity_) bytes = 0;
    __builtin_memcpy(notes_, reinterpret_cast<const uint8_t*>(&before) + layout.modules_offset, bytes);
    log_->modules_bytes.store(bytes, std::memory_order_release);
  }

 private:
  LogHeader* log_ = nullptr;
  uint8_t* notes_ = nullptr;
  uint64_t capacity_ = 0;
};

inline void set_build_id(ModuleNote& note, const uint8_t* id, size_t bytes) {
  note.build_id_bytes = static_cast<uint8_t>(bytes < sizeof(note.build_id) ? bytes : sizeof(note.build_id));
  __builtin_memcpy(note.build_id, id, note.build_id_bytes);
}

// The generation of a module at [start, end) after these entries, which have a start, an end and a generation.
template <typename Known>
constexpr uint32_t next_generation(const Known* known, size_t count, uint64_t start, uint64_t end) {
  uint32_t generation = 0;
  for (size_t i = 0; i < count; ++i) {
    if (start < known[i].end && known[i].start < end && known[i].generation >= generation) {
      generation = known[i].generation + 1;
    }
  }
  return generation & kGenerationMask;
}

}  // namespace heaptap::wire
