// Restrictions that the program puts on itself, as far as the agent must obey them.
#pragma once
#include <stdint.h>

namespace heaptap::agent {

// The function that a call of syscall() continues in if it may install a seccomp filter or forbid the clock; else null.
// `arguments` are those of syscall().
void* choose_restricting_call(const uintptr_t* arguments);

}  // namespace heaptap::agent
