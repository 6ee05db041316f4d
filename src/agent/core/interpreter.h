// Interface to an interpreter's own call stack, which the frames of its native code don't show. A session that asks for such frames
// (wire::kInterpreterFrames) has them put into the stacks of allocations; an agent without a room for an interpreter has none.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "agent/core/leftovers.h"
#include "agent/core/platform.h"
#include "common/wire/log.h"

namespace heaptap::agent {

struct Interpreter {
  // For each session. False: no memory.
  bool (*start)(wire::LogHeader& log);
  // The memory of the session before.
  void (*leave)(Leftovers& leftovers);
  // Each object as the loader lists it, possibly several times. Whether it is the interpreter, and no part of another program.
  bool (*look_at)(const ModuleFacts& module, uint32_t generation);
  // After a listing: whether the interpreter isn't loaded any more. Then the objects are to be listed again: there may be another one.
  bool (*is_gone)();
  // The calling thread's stack with the interpreter's frames, by its number without them.
  uint32_t (*merge)(uint32_t native);
};

// CPython's (agent/python). Null where it isn't linked.
extern "C" [[gnu::weak, gnu::visibility("hidden")]] const Interpreter heaptap_python;

inline const Interpreter* interpreter_for(uint32_t flags) {
  return (flags & wire::kInterpreterFrames) != 0 ? &heaptap_python : nullptr;
}

}  // namespace heaptap::agent
