// Exit handshake: a program about to end lets the collector scan its memory once more. A state word in the log that
// both sides change, and the agent's exit notice. Uses only shared memory and futexes: works where the program has
// closed its descriptors, changed its root or user, or left the network namespace. Freestanding.
//
// Where exit begins, before destructors and handlers, a scan is offered as well, in the same way. The agent sets the turn
// back to kNone after it, at any time: the collector's next step then fails.
//
//   kNone ─agent▸ kOffered ─collector▸ kScanning ─collector▸ kDone     then the program ends
//                    │                  │    ▴
//                    │        collector ▾    │ agent
//                    │                kAsksAccess
//                    └─────────┬────────┘
//                              └ agent, which saw no progress ▸ kGivenUp: the program ends, its memory can't be relied on
//
// Where the collector takes the offer for that of a child that shares the process's memory it sets kNone again.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <atomic>

#include "common/wire/atomic_64.h"
#include "common/wire/heap_scan.h"

namespace heaptap::wire {

enum class ExitTurn : uint32_t { kNone = 0, kOffered = 1, kScanning = 2, kAsksAccess = 3, kDone = 4, kGivenUp = 5 };

enum class ExitKind : uint32_t {
  kReturn = 1,      // main returned; destructors and exit handlers have run
  kExit = 2,        // exit, or the end of the last thread; destructors and exit handlers have run
  kQuickExit = 3,   // quick_exit; its handlers have run
  kDirectExit = 4,  // _exit, _Exit
  kSignal = 5,
  kExitBegins = 6,  // exit was called, or main returned; destructors and exit handlers will run
};

struct ExitNotice {
  ExitKind kind;
  uint32_t thread_id;  // the kernel's, as the target sees it
  // The thread's stack is dead below it. For a signal: address of the signal frame, which holds the interrupted registers.
  uint64_t live_sp;
  // For a signal: lowest live address of the interrupted stack, which may be another than the frame's. Else live_sp.
  uint64_t interrupted_sp;
  uint32_t signal;  // 0: none
  uint32_t status;  // exit status, encoded by exit_with(); 0: unknown
  // Where the thread's memory has the registers that its caller expects to be preserved; 0: elsewhere.
  uint64_t registers = 0;
  // Of the thread that waits: an address in its stack, close above its stack pointer; 0: unknown.
  uint64_t waits_below = 0;
};
static_assert(sizeof(ExitNotice) == 48);

// A parent process sees the lowest 8 bits.
inline constexpr uint32_t kStatusKnown = 0x100;
constexpr uint32_t exit_with(uintptr_t status) { return kStatusKnown | (static_cast<uint32_t>(status) & 0xff); }

struct alignas(64) ExitHandshake {
  std::atomic<uint32_t> turn;      // ExitTurn; a futex
  std::atomic<uint32_t> progress;  // the collector increments it while it works, at least once every kExitPatienceMs
  std::atomic<int32_t> reader;     // PID of the process that reads the memory, with kAsksAccess
  uint32_t reserved;
  ExitNotice notice;  // written by the agent, before kOffered
};
static_assert(sizeof(ExitHandshake) == 64);
inline constexpr uint32_t kExitPatienceMs = 2000;

// A stack reported by the program (common/wire/stack_areas.h). `version` is odd while the entry is being written.
struct StackAreaEntry {
  static constexpr uint32_t kWords = sizeof(StackArea) / sizeof(uint64_t);
  Atomic64 version;
  Atomic64 words[kWords];  // a StackArea; the first is its `begin`, 0: empty

  [[nodiscard]] uint64_t begin() const { return words[0].load(std::memory_order_relaxed); }
};
static_assert(has_size<StackAreaEntry>(40));

// Memory mapped by the agent for itself: not scanned for the program's pointers. `begin` 0: empty. `end` is stored first.
struct OwnArea {
  Atomic64 begin;
  Atomic64 end;
};
static_assert(has_size<OwnArea>(16));

}  // namespace heaptap::wire
