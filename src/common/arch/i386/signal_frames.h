// Signal frames of i386, for a walk from outside: two kinds, see registers.h.
#pragma once
#include "common/arch/i386/registers.h"
#include "common/arch/signal_frames.h"

namespace heaptap::arch::i386 {

// The first entry stands for trampolines found by CFI only.
inline constexpr SignalTrampoline kSignalTrampolines[] = {
    {{0xb8, 0xad, 0, 0, 0, 0xcd, 0x80},
     sizeof(kSignalTrampoline),
     Unwinding::kSignalFramePointer,
     Unwinding::kSignalStackPointer,
     Unwinding::kSignalProgramCounter},
    {{0x58, 0xb8, 0x77, 0, 0, 0, 0xcd, 0x80},
     sizeof(kPlainSignalTrampoline),
     Unwinding::kPlainSignalFramePointer,
     Unwinding::kPlainSignalStackPointer,
     Unwinding::kPlainSignalProgramCounter},
};

using TracedUnwinding = Traced<Unwinding, kSignalTrampolines>;

}  // namespace heaptap::arch::i386
