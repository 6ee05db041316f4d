// Does what an instruction would do, on a copy of a thread's registers and on its memory.
#pragma once
#include "arch/x86/action.h"
#include "arch/x86/machine_state.h"

namespace heaptap::arch::x86 {

// False: can't be done, or memory is missing. Then nothing has been written to memory; `state` may have changed.
bool emulate(const Parts& parts, uint64_t address, MachineState& state, TargetMemory& memory);

}  // namespace heaptap::arch::x86
