// Signal frames of AArch64, for a walk from outside. Sources: Linux arch/arm64/kernel/signal.c, arch/arm64/kernel/vdso/sigreturn.S
// (`mov x8, #139; svc #0`).
#pragma once
#include "common/arch/aarch64/registers.h"
#include "common/arch/signal_frames.h"

namespace heaptap::arch::aarch64 {

// The first entry stands for trampolines found by CFI only.
inline constexpr SignalTrampoline kSignalTrampolines[] = {
    {{0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4},
     8,
     Unwinding::kSignalFramePointer,
     Unwinding::kSignalStackPointer,
     Unwinding::kSignalProgramCounter,
     Unwinding::kSignalLinkRegister},
};

using TracedUnwinding = Traced<Unwinding, kSignalTrampolines>;

}  // namespace heaptap::arch::aarch64
