// Loaded objects known to the agent: their unwind tables, and the generation that tells apart objects mapped in turn at
// the same address. Entries are only added; readers take no lock.
#pragma once
#include <stdint.h>

#include <atomic>

#include "agent/core/interpreter.h"
#include "agent/core/own_address.h"
#include "agent/core/platform.h"
#include "common/unwind/cfi.h"
#include "common/wire/log.h"
#include "common/wire/module_notes.h"

namespace heaptap::agent {

struct Module {
  uint64_t start = 0;
  uint64_t end = 0;
  uint64_t bias = 0;
  uint64_t entry = 0;         // entry point of the program or the loader; 0: it is neither
  uint64_t tables_start = 0;  // as in ModuleFacts
  uint64_t tables_end = 0;
  uint64_t unwind_header = 0;
  uint64_t unwind_header_bytes = 0;
  uint64_t identity = 0;  // hash of path and build-id
  uint64_t rows_key = 0;  // key of its late rows (common/wire/late_rows.h)
  uint32_t generation = 0;
  bool omitted = false;  // --omit: its calls are not recorded
  bool is_go = false;    // code without rows keeps frame pointers, also across its stack switches
  std::atomic<bool> loaded{false};
  mutable std::atomic<bool> lacks_rows{false};  // code without a row was seen in it

  [[nodiscard]] unwind::CfiTables tables() const {
    return {tables_start, tables_end, reinterpret_cast<const uint8_t*>(own_address(tables_start)), unwind_header,
            unwind_header_bytes};
  }
};

class Modules {
 public:
  // Shows each listed object to this interpreter; null: to none.
  void show_to(const Interpreter* interpreter) { interpreter_ = interpreter; }
  // Whether the interpreter isn't loaded any more, so that another one may be listed.
  [[nodiscard]] bool lost_interpreter() const { return interpreter_ != nullptr && interpreter_->is_gone(); }

  void start(wire::LogHeader* log, const wire::LogLayout& layout);

  // Continues a forked parent's list in the child's own log.
  void inherit(const wire::LogHeader& before, const wire::LogLayout& layout_before, wire::LogHeader* log,
               const wire::LogLayout& layout);

  // Calls forget(start, end) for each module that lacks rows.
  template <typename Forget>
  void for_each_without_rows(const Forget& forget) const {
    for (uint32_t i = 0; i < count_.load(std::memory_order_acquire); ++i) {
      if (entries_[i].lacks_rows.load(std::memory_order_relaxed)) forget(entries_[i].start, entries_[i].end);
    }
  }

  // The loaded module that holds the address, or null.
  [[nodiscard]] const Module* find(uint64_t address) const;

  // Whether objects were loaded or unloaded since the last refresh.
  [[nodiscard]] bool changed() const {
    return platform::module_changes() != seen_changes_.load(std::memory_order_relaxed);
  }

  // For code in no known module: notes the object that contains it, if the loader gives it without a lock. Needed where
  // the program has its own malloc: the loader's allocator calls, which announce new objects, then bypass the agent.
  // False: no object contains it.
  bool note_at(uint64_t address);

  // Updates the list, notes new modules in the log, and calls forget(start, end) for each range whose meaning changed.
  // False: an update is running already, in another thread or below this signal handler.
  template <typename Forget>
  bool refresh(const Forget& forget) {
    if (busy_.exchange(1, std::memory_order_acquire) != 0) return false;
    const uint64_t changes = platform::module_changes();
    begin_listing();
    platform::for_each_module(&Modules::visit, this);
    for (uint32_t i = 0; i < count_.load(std::memory_order_relaxed); ++i) {
      if (!ended_or_began(i)) continue;
      forget(entries_[i].start, entries_[i].end);
    }
    seen_changes_.store(incomplete_ ? UINT64_MAX : changes, std::memory_order_relaxed);
    busy_.store(0, std::memory_order_release);
    return true;
  }

 private:
  static constexpr uint32_t kCapacity = 4096;
  enum class Seen : uint8_t { kNo, kAgain, kNew };

  static void visit(void* context, const ModuleFacts& facts);
  void begin_listing();
  [[nodiscard]] bool is_interpreter(const ModuleFacts& facts, uint32_t generation) const;
  void note(const ModuleFacts& facts);
  // After a listing: whether entry `index` appeared or disappeared with it.
  bool ended_or_began(uint32_t index);
  void write_note(const Module& module, const ModuleFacts& facts);

  wire::LogHeader* log_ = nullptr;
  const Interpreter* interpreter_ = nullptr;
  wire::ModuleNotes notes_;
  std::atomic<uint32_t> count_{0};
  std::atomic<uint32_t> busy_{0};
  wire::Atomic64 seen_changes_{0};
  bool incomplete_ = false;  // the loader was adding one
  Module entries_[kCapacity]{};
  Seen seen_[kCapacity]{};
};

}  // namespace heaptap::agent
