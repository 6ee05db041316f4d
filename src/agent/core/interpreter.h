// Interface to an interpreter's own call stack, which the frames of its native code don't show. A session that asks for such frames
// (wire::kInterpreterFrames) has them put into the stacks of allocations; an agent without a room for an interpreter has none.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "agent/core/leftovers.h"
#include "agent/core/platform.h"
#include "common/wire/log.h"

namespace heaptap::agent {

// Address of a function or an object that the loaded object defines, and its size; null: it doesn't.
struct ExportedSymbols {
  const void* object;
  void* (*find)(const void* object, const char* name, uintptr_t& bytes);
};

struct Interpreter {
  // For each session. False: no memory.
  bool (*start)(wire::LogHeader& log);
  // The memory of the session before.
  void (*leave)(Leftovers& leftovers);
  // Each object as the loader lists it, possibly several times. Whether it is the interpreter.
  bool (*look_at)(const ModuleFacts& module, const ExportedSymbols& symbols);
  // The calling thread's stack with the interpreter's frames, by its number without them.
  uint32_t (*merge)(uint32_t native);
};

// CPython's (agent/python). Null where it isn't linked.
extern "C" [[gnu::weak, gnu::visibility("hidden")]] const Interpreter heaptap_python;

inline const Interpreter* interpreter_for(uint32_t flags) {
  return (flags & wire::kInterpreterFrames) != 0 ? &heaptap_python : nullptr;
}

}  // namespace heaptap::agent
