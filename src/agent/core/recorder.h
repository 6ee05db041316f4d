// Makes one event's record: call stack, time, and the bytes in the thread's stream.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "agent/core/call_stack.h"
#include "agent/core/labels.h"
#include "agent/core/platform.h"
#include "wire/functions.h"
#include "wire/log.h"

namespace heaptap::agent {

class StreamHold;

// Where a hook was called from: what the walk starts with.
struct CallSite {
  uintptr_t slot;  // address of the hook's return address
  uintptr_t return_address;
  uintptr_t fp;  // the caller's frame pointer
};

struct Observation {
  wire::RecordKind kind;
  wire::Function function;
  uint64_t address;
  uint64_t size_bytes;           // where the kind has one
  uint64_t time;                 // 0: now
  const Label* label = nullptr;  // of the program's, in place of the thread's tags
};

// An allocation or a release: most events are one of them. `slot`: address of the hook's return address, above the caller's
// frame pointer. Call only while is_recording(). Never fails visibly.
void record_allocation(ThreadAnchor& anchor, wire::Function function, uintptr_t block, uint64_t size_bytes,
                       const uintptr_t* slot);
void record_release(ThreadAnchor& anchor, wire::Function function, uintptr_t block, const uintptr_t* slot);

// Any event. Call only while is_recording(). Never fails visibly: what can't be recorded is counted as lost.
void record(ThreadAnchor& anchor, const Observation& observation, const CallSite& site);

// What the program says: a mark, the name of a block. Behind all that the thread recorded so far. Also where recording is switched off.
void note_text(ThreadAnchor& anchor, wire::NoteKind kind, uint64_t address, const char* text);

// The same for who holds the thread's stream already.
void record_held(StreamHold& hold, const Observation& observation, const CallSite& site);

}  // namespace heaptap::agent
