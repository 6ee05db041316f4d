// Decoded events as passed on by collector and readers: in the order of the trace, numbers only.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "common/base/unfilled_allocator.h"
#include "common/wire/functions.h"

namespace heaptap::model {

enum class EventKind : uint8_t {
  kAllocate = 1,  // size:  in bytes
  kRelease = 2,   // block: number of the released allocation, or kUnknownBlock
  kUndo = 3,      // the thread's last release did not happen (a realloc that failed); no value
  kMap = 4,       // size:  as wire::make_mapped; address: where
  kUnmap = 5,     // size:  in bytes; address: where
  // Pool and resource events reported by the program. They have no number; size: as wire::make_pooled_size.
  kPoolAllocate = 6,  // address: the block, or the resource's number
  kPoolRelease = 7,   // address: the same
  kPoolDestroy = 8,   // all live blocks of the pool are released
  kProtect = 9,       // as kMap; only the access is valid
};
inline constexpr EventKind kLastEventKind = EventKind::kProtect;
constexpr bool allocates(EventKind kind) {
  return kind == EventKind::kAllocate || kind == EventKind::kMap || kind == EventKind::kPoolAllocate;
}

// Allocations are numbered 1, 2, … in the order of their events in the trace, across threads.
using BlockNumber = uint64_t;
inline constexpr BlockNumber kUnknownBlock = 0;

// Origin of events: the called function and its stack. Index into Tables::sites.
using SiteId = uint32_t;
using StackId = uint32_t;   // index into Tables::stacks
using CodeId = uint32_t;    // index into Tables::codes
using ThreadId = uint32_t;  // 1, 2, … in order of first event
using LabelId = uint32_t;   // index into Tables::labels; 0: none

struct Event {
  SiteId site;
  ThreadId thread;
  uint64_t size_or_block;  // see EventKind
  // Of kAllocate, kMap, kUnmap, kProtect, pool events, a kRelease of an unknown block; 0 where addresses weren't requested.
  uint64_t address;

  [[nodiscard]] uint64_t size_bytes() const { return size_or_block; }  // of kAllocate
  [[nodiscard]] BlockNumber block() const { return size_or_block; }    // of kRelease
};

// From event `first_event` of the batch up to the next mark, the time is `time_ns` since the start of the capture.
struct TimeMark {
  uint32_t first_event;
  uint64_t time_ns;
};

enum class BadReleaseKind : uint8_t {
  kUnknown = 0,  // its allocation was before the start of the capture
  kNeverAllocated = 1,
  kDouble = 2,
  kInterior = 3,  // points into a live block
};

// Facts of a release of no live block. Belongs to event `event` of the batch, whose value is kUnknownBlock.
struct BadRelease {
  uint32_t event;
  BadReleaseKind kind;
  uint64_t address;
  uint64_t block_size;       // of the released (kDouble) or pointed-into (kInterior) block, else 0
  SiteId allocated_at;       // of that block; valid where block_known
  SiteId first_released_at;  // kDouble
  bool block_known;
};

using Events = std::vector<Event, base::UnfilledAllocator<Event>>;

struct EventBatch {
  BlockNumber first_block = 1;  // number of the batch's first allocation
  Events events;
  std::vector<TimeMark> time_marks;      // ascending; the first one is for event 0
  std::vector<BadRelease> bad_releases;  // ascending by event

  // Removes what it has, and keeps the memory.
  void clear() {
    events.clear();
    time_marks.clear();
    bad_releases.clear();
  }
};

}  // namespace heaptap::model
