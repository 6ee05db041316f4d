// Pools and other resources that the program reports through the API: numbered, with a label each. Freestanding.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <atomic>

#include "agent/core/labels.h"
#include "agent/core/recorder.h"

namespace heaptap::agent {

// Handle as the program has it; 0: none. Not trusted: the program may pass any value.
using PoolHandle = uint64_t;

// Creates a pool, or a kind of resource, of that name. 0: no room for it.
PoolHandle make_pool(wire::LabelKind kind, const char* name);

struct PoolEvent {
  wire::RecordKind kind;  // kPoolAllocate, kPoolRelease, kPoolDestroy
  wire::Function function;
  uint64_t address;
  uint64_t size_bytes;
};

// Call only while is_recording(). Events of a pool that was never made are ignored.
void record_pooled(ThreadAnchor& anchor, PoolHandle pool, wire::LabelKind kind, const PoolEvent& event,
                   const CallSite& site);

}  // namespace heaptap::agent
