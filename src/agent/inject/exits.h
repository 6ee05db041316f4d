// The program's end as the injected agent sees it: at calls of exit and _exit. Ends by a signal, or by a system call that the program makes
// itself, aren't seen.
#pragma once
#include <stdint.h>

#include "common/wire/injected_agent.h"

namespace heaptap::agent {

struct ExitCall {
  wire::InjectedWay way;
  uintptr_t status;
  uintptr_t return_address;
  uintptr_t bottom;            // end of the caller's frame
  const uintptr_t* registers;  // kExitRegisters that the caller expects to be preserved
};

inline constexpr unsigned kExitRegisters = 6;  // rbx, rbp, r12 to r15, as injected_hooks.S saves them

// Offers a scan, and waits for it, bounded.
void note_exit(const ExitCall& call);

// Whether the injector answers, now.
bool is_anyone_answering();

}  // namespace heaptap::agent
