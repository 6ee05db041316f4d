// Calls that map memory, as events: for hooks of mmap and its relatives, which give the real call. An unmapping's event has the time before
// the call, a mapping's that after it: no event of another thread for the same addresses may come to stand between them. What is mapped no
// more is forgotten by the walks of stacks, also where the call is no event (`observes` says so, and is asked where it counts).
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "agent/core/clock.h"
#include "agent/core/pages.h"
#include "agent/core/recorder.h"
#include "agent/core/streams.h"
#include "agent/core/thread_stack.h"
#include "common/wire/mapping_call.h"

namespace heaptap::agent {

inline void* const kMapFailed = reinterpret_cast<void*>(-1);

namespace mapping_calls {

constexpr wire::MappedMemory kNotTold{};
constexpr wire::MappedMemory kMoved{.source = wire::MappedSource::kMoved};

// `time` 0: now.
inline Observation observation(wire::RecordKind kind, wire::Function function, const void* start, size_t bytes,
                               wire::MappedMemory memory, uint64_t time = 0) {
  return {kind, function, reinterpret_cast<uintptr_t>(start), wire::make_mapped(whole_pages(bytes), memory), time};
}

// The memory of [start, start + bytes) is about to be unmapped.
inline void forget_memory(const void* start, size_t bytes, const CallSite& site) {
  const auto begin = reinterpret_cast<uintptr_t>(start);
  forget_stack_memory(begin, begin + whole_pages(bytes), site.bottom());
}

}  // namespace mapping_calls

// mprotect and pkey_mprotect. A part of a stack that stays readable remains known.
template <typename Observes, typename Call>
inline int protect_memory(ThreadAnchor& anchor, wire::Function function, const void* start, size_t bytes,
                          int protection, const CallSite& site, const Observes& observes, const Call& call) {
  if ((protection & PROT_READ) == 0) mapping_calls::forget_memory(start, bytes, site);
  const int status = call();
  if (status != 0 || !observes()) return status;
  const wire::MappedMemory memory{.access = wire::access_of_call(static_cast<uint64_t>(protection))};
  record(anchor, mapping_calls::observation(wire::RecordKind::kProtect, function, start, bytes, memory), site);
  return status;
}

template <typename Observes, typename Call>
inline void* map_memory(ThreadAnchor& anchor, wire::Function function, void* start, size_t bytes, int protection,
                        int flags, const CallSite& site, const Observes& observes, const Call& call) {
  constexpr int kFixed = 0x10;
  if ((flags & kFixed) != 0) mapping_calls::forget_memory(start, bytes, site);
  void* const result = call();
  if (result == kMapFailed) return result;
  note_mapping_made(reinterpret_cast<uintptr_t>(result), reinterpret_cast<uintptr_t>(result) + whole_pages(bytes));
  if (!observes()) return result;
  const wire::MappedMemory memory =
      wire::memory_of_call(static_cast<uint64_t>(protection), static_cast<uint64_t>(flags));
  record(anchor, mapping_calls::observation(wire::RecordKind::kMap, function, result, bytes, memory), site);
  return result;
}

// The stream is held during the call: no later event of another thread can precede it in the trace.
template <typename Observes, typename Call>
inline int unmap_memory(ThreadAnchor& anchor, const void* start, size_t bytes, const CallSite& site,
                        const Observes& observes, const Call& call) {
  mapping_calls::forget_memory(start, bytes, site);
  if (!observes()) return call();
  StreamHold hold(anchor);
  const uint64_t before = read_time_in_order();
  const int status = call();
  if (status == 0) {
    record_held(hold,
                mapping_calls::observation(wire::RecordKind::kUnmap, wire::Function::kMunmap, start, bytes,
                                           mapping_calls::kNotTold, before),
                site);
  }
  return status;
}

// mremap. `wanted`: where to, if that is fixed.
template <typename Observes, typename Call>
inline void* remap_memory(ThreadAnchor& anchor, const void* old, size_t old_bytes, size_t bytes, int flags,
                          const void* wanted, const CallSite& site, const Observes& observes, const Call& call) {
  constexpr int kFixed = 2;
  constexpr int kDontUnmap = 4;
  constexpr wire::Function kRemap = wire::Function::kMremap;
  mapping_calls::forget_memory(old, old_bytes, site);
  if ((flags & kFixed) != 0) mapping_calls::forget_memory(wanted, bytes, site);
  if (!observes()) return call();
  StreamHold hold(anchor);
  const uint64_t before = read_time_in_order();
  void* const result = call();
  if (result == kMapFailed) return result;
  const bool leaves_old = (flags & kDontUnmap) != 0 || old_bytes == 0;
  if (!leaves_old) {
    record_held(
        hold,
        mapping_calls::observation(wire::RecordKind::kUnmap, kRemap, old, old_bytes, mapping_calls::kNotTold, before),
        site);
  }
  const wire::MappedMemory memory = leaves_old ? mapping_calls::kNotTold : mapping_calls::kMoved;
  record_held(hold, mapping_calls::observation(wire::RecordKind::kMap, kRemap, result, bytes, memory), site);
  return result;
}

}  // namespace heaptap::agent
