// Events as collector and reader hand them on: decoded, in the order of the trace, numbers only.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "base/unfilled_allocator.h"
#include "wire/functions.h"

namespace heaptap::model {

enum class EventKind : uint8_t {
  kAllocate = 1,  // size:  in bytes
  kRelease = 2,   // block: number of the allocation that it releases, or kUnknownBlock
  kUndo = 3,      // the thread's last release did not happen (a realloc that failed); no value
  kMap = 4,       // size:  as wire::make_mapped; address: where
  kUnmap = 5,     // size:  in bytes; address: where
  // What the program tells of a pool of its own, or of a kind of resource. They have no number; size: as wire::make_pooled_size.
  kPoolAllocate = 6,  // address: where, or the resource's number
  kPoolRelease = 7,   // address: the same
  kPoolDestroy = 8,   // all that is alive in the pool is released
  kProtect = 9,       // as kMap; of the memory only the access is told
};
inline constexpr EventKind kLastEventKind = EventKind::kProtect;
constexpr bool allocates(EventKind kind) {
  return kind == EventKind::kAllocate || kind == EventKind::kMap || kind == EventKind::kPoolAllocate;
}

// Allocations are numbered 1, 2, … in the order of their events in the trace, across threads.
using BlockNumber = uint64_t;
inline constexpr BlockNumber kUnknownBlock = 0;

// Where events come from: what was called, and from which stack. Index into Tables::sites.
using SiteId = uint32_t;
using StackId = uint32_t;   // index into Tables::stacks
using CodeId = uint32_t;    // index into Tables::codes
using ThreadId = uint32_t;  // 1, 2, … in order of first event
using LabelId = uint32_t;   // index into Tables::labels; 0: none

struct Event {
  SiteId site;
  ThreadId thread;
  uint64_t size_or_block;  // see EventKind
  uint64_t
      address;  // of kAllocate, kMap, kUnmap, kProtect, those of pools, and of a kRelease of an unknown block; 0 where addresses weren't asked for

  [[nodiscard]] uint64_t size_bytes() const { return size_or_block; }  // of kAllocate
  [[nodiscard]] BlockNumber block() const { return size_or_block; }    // of kRelease
};

// From event `first_event` of the batch on (until the next mark) the time is `time_ns` since the start of the capture.
struct TimeMark {
  uint32_t first_event;
  uint64_t time_ns;
};

enum class BadReleaseKind : uint8_t {
  kUnknown = 0,  // released, its allocation was not seen because the capture began later
  kNeverAllocated = 1,
  kDouble = 2,
  kInterior = 3,  // points into a live block
};

// What is known of a release whose block is not alive. Belongs to event `event` of the batch, whose value is kUnknownBlock.
struct BadRelease {
  uint32_t event;
  BadReleaseKind kind;
  uint64_t address;
  uint64_t block_size;       // of the block it was (kDouble) or points into (kInterior), else 0
  SiteId allocated_at;       // of that block; valid where block_size_known
  SiteId first_released_at;  // kDouble
  bool block_known;
};

using Events = std::vector<Event, base::UnfilledAllocator<Event>>;

struct EventBatch {
  BlockNumber first_block = 1;  // number that the batch's first allocation gets
  Events events;
  std::vector<TimeMark> time_marks;      // ascending; the first one is for event 0
  std::vector<BadRelease> bad_releases;  // ascending by event
};

}  // namespace heaptap::model
