// Signal frames of 32-bit ARM. Source: Linux arch/arm/kernel/sigreturn_codes.S (`mov r7, #173; svc #0`).
#pragma once
#include "common/arch/arm/registers.h"
#include "common/arch/signal_frames.h"

namespace heaptap::arch::arm {

// The first entry stands for trampolines found by unwind tables only.
inline constexpr SignalTrampoline kSignalTrampolines[] = {
    {{0xad, 0x70, 0xa0, 0xe3, 0, 0, 0, 0xef},
     8,
     Unwinding::kSignalFramePointer,
     Unwinding::kSignalStackPointer,
     Unwinding::kSignalProgramCounter,
     Unwinding::kSignalLinkRegister},
};

using TracedUnwinding = Traced<Unwinding, kSignalTrampolines>;

}  // namespace heaptap::arch::arm
