// Signal frames of 32-bit PowerPC. Source: Linux arch/powerpc/kernel/signal_32.c: `li r0, 172; sc` (rt_sigreturn) for handlers with the
// signal's description, `li r0, 119; sc` (sigreturn) for the others, where SP points at an empty frame (64), behind it the sigcontext (32)
// and the registers.
#pragma once
#include "common/arch/powerpc/registers.h"
#include "common/arch/signal_frames.h"

namespace heaptap::arch::powerpc {

// The first entry stands for trampolines found by CFI only.
inline constexpr SignalTrampoline kSignalTrampolines[] = {
    {{0x38, 0x00, 0x00, 0xac, 0x44, 0, 0, 0x02},
     8,
     Unwinding::kSignalFramePointer,
     Unwinding::kSignalStackPointer,
     Unwinding::kSignalProgramCounter,
     Unwinding::kSignalLinkRegister},
    {{0x38, 0x00, 0x00, 0x77, 0x44, 0, 0, 0x02}, 8, 96 + 31 * 4, 96 + 1 * 4, 96 + 32 * 4, 96 + 36 * 4},
};

using TracedUnwinding = Traced<Unwinding, kSignalTrampolines>;

}  // namespace heaptap::arch::powerpc
