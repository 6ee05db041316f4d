// Totals per stack of --aggregate, updated by each event: kept in the log's shared memory in place of records.
#pragma once
#include <stdint.h>

#include "agent/core/entry_index.h"
#include "agent/core/live_blocks.h"
#include "agent/core/live_level.h"
#include "agent/core/platform.h"
#include "common/wire/log.h"
#include "common/wire/log_layout.h"
#include "common/wire/totals.h"

namespace heaptap::agent {

// Private totals state of a thread (at one level).
struct TotalsState {
  static constexpr uint32_t kKnownEntries = 2048;
  uint32_t thread;  // whose entries it adds to; 0: the shared ones of all threads without their own
  // The last release by a realloc, which may have to be undone.
  enum class Released : uint8_t { kNothing, kBlock, kDouble, kBad, kUnclear, kUnknown } released;
  bool was_temporary;
  bool was_mismatched;
  uint64_t address;
  uint64_t where;
  LiveLevel::Part live;
  // The slot of the thread's stream until it writes its first record, which most threads never do: so the log needs
  // slots for fewer threads.
  wire::StreamSlot slot;
  uint32_t known[kKnownEntries];  // entries by stack, checked before use
};

class TotalsBook {
 public:
  // Stays off where the log has no totals. False: no memory.
  bool start(wire::LogHeader* log, const wire::CheckedLayout& layout);
  [[nodiscard]] bool is_on() const { return header_ != nullptr; }

  // Called at a thread's first event.
  void begin_thread(TotalsState& state, uint32_t number, uint32_t kernel_id);

  // `tagged_address` (common/wire/log.h): the function, and the block's address.
  void allocate(TotalsState& state, ThreadAnchor& anchor, uint64_t tagged_address, uint64_t size_bytes, uint32_t stack);
  // kKnown: while recording is off, since unknown blocks were allocated during that time.
  enum class Blocks : uint8_t { kAll, kKnown };
  void release(TotalsState& state, ThreadAnchor& anchor, uint64_t tagged_address, Blocks blocks);
  void undo(TotalsState& state, uint64_t tagged_address);

 private:
  uint32_t entry_for(TotalsState& state, uint32_t stack, uint8_t function);
  uint32_t find_entry(TotalsState& state, uint32_t stack, uint8_t function);
  uint32_t add_entry(uint64_t key);
  void count_release(TotalsState& state, uint64_t where, uint64_t times);
  void count_rare_release(TotalsState& state, uint64_t where, uint64_t times);
  bool is_temporary(const TotalsState& state, const ThreadAnchor& anchor, uint64_t address, uint64_t key);
  void not_placed(TotalsState& state, uint32_t entry, LiveBlocks::Insert kept, uint64_t before);
  void not_alive(TotalsState& state, uint64_t address, LiveBlocks::Take take, Blocks blocks);
  [[nodiscard]] wire::Atomic64* counter_of(TotalsState::Released released) const;
  void count_thread_release(const TotalsState& state, const wire::TotalsEntry& entry, uint64_t times);
  [[nodiscard]] uint32_t entry_number(uint64_t where) const;
  [[nodiscard]] wire::TotalsEntry& entry_of(uint64_t where) const;
  [[nodiscard]] wire::TotalsRare& rare_of(uint64_t where) const;
  [[nodiscard]] bool owns(const TotalsState& state, const wire::TotalsEntry& entry) const;

  wire::TotalsHeader* header_ = nullptr;
  wire::TotalsThread* threads_ = nullptr;
  wire::TotalsEntry* entries_ = nullptr;
  wire::TotalsRare* rare_ = nullptr;
  uint32_t entry_capacity_ = 0;
  LiveBlocks blocks_;
  LiveLevel live_;
  EntryIndex index_;
};

}  // namespace heaptap::agent
