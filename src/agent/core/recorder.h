// Recorder of one event: call stack, time, and the bytes in the thread's stream.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "agent/core/call_stack.h"
#include "agent/core/labels.h"
#include "agent/core/platform.h"
#include "common/arch/native.h"
#include "common/wire/functions.h"
#include "common/wire/log.h"

namespace heaptap::agent {

class StreamHold;

using arch::native::CallSite;

struct Observation {
  wire::RecordKind kind;
  wire::Function function;
  uint64_t address;
  uint64_t size_bytes;           // where the kind has one
  uint64_t time;                 // 0: now
  const Label* label = nullptr;  // of the program, replaces the thread's tags
};

// Records an allocation or a release, the most frequent events. Call only while is_recording(). Never fails visibly.
void record_allocation(ThreadAnchor& anchor, wire::Function function, uintptr_t block, uint64_t size_bytes,
                       CallSite site);
void record_release(ThreadAnchor& anchor, wire::Function function, uintptr_t block, CallSite site);

// A call of the loader that isn't recorded: what it changes is noticed all the same, since other objects may have these addresses
// afterwards. Call only while is_recording().
void note_unrecorded_loader_call(ThreadAnchor& anchor);

// Records any event. Call only while is_recording(). Never fails visibly: events that can't be recorded are counted as lost.
void record(ThreadAnchor& anchor, const Observation& observation, const CallSite& site);

// Records a text of the program: a mark, a block's name. Ordered after the thread's earlier records. Also while recording is off.
void note_text(ThreadAnchor& anchor, wire::NoteKind kind, uint64_t address, const char* text);

// As record(), for a caller that holds the thread's stream already.
void record_held(StreamHold& hold, const Observation& observation, const CallSite& site);

}  // namespace heaptap::agent
