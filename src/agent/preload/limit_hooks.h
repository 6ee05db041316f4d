// What the agent must know of what the program forbids itself.
#pragma once
#include <stdint.h>

namespace heaptap::agent {

// What a call by number goes on to if it may install a filter of system calls or forbid the clock; else null. The arguments
// are those of syscall().
void* choose_restricting_call(const uintptr_t* arguments);

}  // namespace heaptap::agent
