// Emulation of an instruction, on a copy of a thread's registers and on its memory.
#pragma once
#include "common/arch/x86/action.h"
#include "common/arch/x86/machine_state.h"

namespace heaptap::arch::x86 {

// False: not possible, or memory is missing. Then memory is unchanged; `state` may have changed.
bool emulate(const Parts& parts, uint64_t address, MachineState& state, TargetMemory& memory);

}  // namespace heaptap::arch::x86
