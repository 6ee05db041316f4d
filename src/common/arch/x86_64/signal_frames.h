// Signal frames of x86-64, for a walk from outside. Sources: Linux arch/x86/kernel/signal.c; the C libraries' restorers
// (`mov $15,%rax; syscall` in glibc, `mov $15,%eax; syscall` where an assembler shortened it).
#pragma once
#include "common/arch/signal_frames.h"
#include "common/arch/x86_64/registers.h"

namespace heaptap::arch::x86_64 {

// The first entry stands for trampolines found by CFI only.
inline constexpr SignalTrampoline kSignalTrampolines[] = {
    {{0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05},
     9,
     Unwinding::kSignalFramePointer,
     Unwinding::kSignalStackPointer,
     Unwinding::kSignalProgramCounter},
    {{0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05},
     7,
     Unwinding::kSignalFramePointer,
     Unwinding::kSignalStackPointer,
     Unwinding::kSignalProgramCounter},
};

using TracedUnwinding = Traced<Unwinding, kSignalTrampolines>;

}  // namespace heaptap::arch::x86_64
