// What a program tells of its own allocators, and of other resources: by number, with a label each. Freestanding.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <atomic>

#include "agent/core/labels.h"
#include "agent/core/recorder.h"

namespace heaptap::agent {

// As the program has it; 0: of none. It may hand in anything.
using PoolHandle = uint64_t;

// A pool, or a kind of resource, of that name. 0: there is no room for it.
PoolHandle make_pool(wire::LabelKind kind, const char* name);

struct PoolEvent {
  wire::RecordKind kind;  // kPoolAllocate, kPoolRelease, kPoolDestroy
  wire::Function function;
  uint64_t address;
  uint64_t size_bytes;
};

// Call only while is_recording(). Nothing of a pool that was never made.
void record_pooled(ThreadAnchor& anchor, PoolHandle pool, wire::LabelKind kind, const PoolEvent& event,
                   const CallSite& site);

}  // namespace heaptap::agent
