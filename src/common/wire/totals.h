// Totals per stack, kept in the log's shared memory in place of records (--aggregate). Freestanding; both sides include it.
//
//   log.totals_offset ▸ ┌ TotalsHeader ┬ TotalsThread[] ┬ TotalsEntry[] ┬ TotalsRare[] ┬ pages ┬ BlockLine[] ┐
//
// An entry counts the allocations of one thread at one site, so that its own additions need no lock; a block refers to its
// entry by number. Entries of thread 0 are shared by all threads without their own. The first kFunctionCount entries, one for
// each function, take events that find no entry: "other stacks". The collector treats all of this as hostile.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <atomic>

#include "common/wire/atomic_64.h"
#include "common/wire/functions.h"

namespace heaptap::wire {

inline constexpr uint32_t kOwnThreads = 1024;  // threads below this number may have entries of their own
inline constexpr uint32_t kMaxEntries = 1u << 20;

// Counters of live bytes and blocks: allocated minus released; may be negative.
struct LiveCounters {
  alignas(64) Atomic64 bytes;
  Atomic64 blocks;
};
static_assert(has_size<LiveCounters>(64));

// Layout of the totals. As LogLayout: written by the collector before it hands the memory over, and not trusted after that.
struct TotalsLayout {
  uint32_t entry_capacity;
  uint32_t line_count;
  uint64_t threads_offset;  // all offsets count from the LogHeader
  uint64_t entries_offset;
  uint64_t rare_offset;
  uint64_t lines_offset;
  uint64_t pages_offset;  // a byte for each kPageLines lines: 0 if none of them was ever used
};
static_assert(sizeof(TotalsLayout) == 48);

struct TotalsHeader : TotalsLayout {
  alignas(64) std::atomic<uint32_t> entry_count;
  LiveCounters live_alone;          // of the first thread while it was the only one, which adds without a lock
  LiveCounters live;                // of all others; lacks a part of each thread's
  alignas(64) Atomic64 peak_bytes;  // the largest sum of both, as seen by a thread that added to it
  Atomic64 peak_blocks;
  Atomic64 peak_error_bytes;  // sum of the most that threads may have lacked
  Atomic64 peak_error_blocks;
  alignas(64) Atomic64 double_releases;
  Atomic64 bad_releases;       // of memory that was never allocated, or into a block
  Atomic64 unclear_releases;   // double or bad: the table no longer has the block
  Atomic64 unknown_releases;   // after a block couldn't be kept: possibly of that one
  Atomic64 missed_releases;    // address handed out again without a seen release
  Atomic64 unclear_temporary;  // counted as temporary, possibly wrongly
  Atomic64 unkept_blocks;      // found no place in the lines
};
static_assert(has_size<TotalsHeader>(384));

struct TotalsThread {
  Atomic64 kernel_id;
  // Made by it, of blocks of other threads; those of its own are in its entries. Of number 0: by all threads without their own, of all
  // blocks.
  Atomic64 releases;
};
static_assert(has_size<TotalsThread>(16));
// Index of a thread's TotalsThread. Threads of consecutive numbers, which run at the same time, share no cache line.
constexpr uint32_t thread_place(uint32_t number) {
  constexpr uint32_t kOfLine = sizeof(TotalsThread) < 64 ? 64 / sizeof(TotalsThread) : 1;
  constexpr uint32_t kLines = kOwnThreads / kOfLine;
  return number % kLines * kOfLine + number / kLines % kOfLine;
}

// 64 bytes: one cache line.
struct alignas(64) TotalsEntry {
  Atomic64 key;  // make_entry_key(); 0: unused
  Atomic64 allocations;
  Atomic64 allocated_bytes;
  Atomic64 own_releases;  // by the entry's own thread
  Atomic64 own_released_bytes;
  Atomic64 other_releases;
  Atomic64 other_released_bytes;
  Atomic64 temporary;
};
static_assert(has_size<TotalsEntry>(64));

struct TotalsRare {
  Atomic64 mismatched;
  Atomic64 unkept_blocks;  // whose releases won't be seen
};
static_assert(has_size<TotalsRare>(16));

constexpr uint64_t make_entry_key(uint32_t stack, uint32_t thread, uint8_t function) {
  return uint64_t{stack} << 32 | uint64_t{thread} << 8 | function;
}
constexpr uint32_t entry_stack(uint64_t key) { return static_cast<uint32_t>(key >> 32); }
constexpr uint32_t entry_thread(uint64_t key) { return static_cast<uint32_t>(key >> 8) & 0xffffff; }
constexpr uint8_t entry_function(uint64_t key) { return static_cast<uint8_t>(key); }

//  63      52 51  50    49   48  47                            0
// ┌──────────┬──────┬──────┬────┬──────────────────────────────┐
// │ passed   │ gone │  -   │dead│ address                      │  what: `passed` and `gone` in a line's first place only
// ├──────────┴──────┴──────┴────┴───────────┬──────────────────┤
// │ size in bytes (44)                      │ entry (20)       │  where
// └─────────────────────────────────────────┴──────────────────┘
struct BlockPlace {
  Atomic64 tagged_address;
  Atomic64 where;
};
static_assert(has_size<BlockPlace>(16));
inline constexpr uint64_t kBlockAddress = (uint64_t{1} << 48) - 1;
inline constexpr uint64_t kBlockDead = uint64_t{1} << 48;  // released; its entry is still known
inline constexpr uint64_t kDeadGone = uint64_t{1} << 51;   // a dead block's place in this line was reused
inline constexpr uint64_t kPassedOne =
    uint64_t{1} << 52;  // unit of the count of blocks that found this line full and went to another
inline constexpr uint64_t kMaxPassed = 4000;  // a count that reaches this is fixed
inline constexpr uint64_t kMaxBlockBytes = (uint64_t{1} << 44) - 1;
inline constexpr uint32_t kLinePlaces = 4;
inline constexpr uint32_t kPageLines = 64;
inline constexpr uint32_t kFewestLines = 127;
constexpr uint64_t page_count(uint64_t lines) { return lines / kPageLines + 1; }

struct alignas(64) BlockLine {
  BlockPlace places[kLinePlaces];
};
static_assert(has_size<BlockLine>(64));

constexpr uint64_t make_where(uint32_t entry, uint64_t size_bytes) { return size_bytes << 20 | entry; }
constexpr uint32_t where_entry(uint64_t where) { return static_cast<uint32_t>(where) & (kMaxEntries - 1); }
constexpr uint64_t where_size(uint64_t where) { return where >> 20; }
constexpr bool is_live_block(uint64_t tagged_address) {
  return (tagged_address & kBlockAddress) != 0 && (tagged_address & kBlockDead) == 0;
}

inline constexpr Family kFamilyOf[] = {
    Family::kNone,
#define HEAPTAP_FUNCTION(enumerator, symbol, name, variant, role, family) Family::k##family,
#include "common/wire/functions.def"
};

}  // namespace heaptap::wire
