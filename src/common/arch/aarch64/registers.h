// Unwinding facts of AArch64: registers and frames. Sources: DWARF for the Arm 64-bit Architecture, 4.1 (register
// numbers), 5 (signed return addresses); Procedure Call Standard for the Arm 64-bit Architecture, 6.4.6 (frame
// records); Linux arch/arm64/kernel/signal.c, arch/arm64/include/uapi/asm/{ucontext,sigcontext}.h (signal frame).
#pragma once
#include <stdint.h>

#include "common/wire/architecture.h"

namespace heaptap::arch::aarch64 {

inline constexpr wire::Architecture kArchitecture = wire::Architecture::kAArch64;

inline constexpr wire::Architecture kTraced[] = {wire::Architecture::kAArch64};

inline constexpr const char kGlibcLoader[] = "ld-linux-aarch64.so.1";

// CPU facts for the unwinder.
struct Unwinding {
  using Word = uint64_t;
  static constexpr uint32_t kStackPointer = 31;  // DWARF numbers
  static constexpr uint32_t kFramePointer = 29;
  static constexpr uint32_t kReturnAddress = 30;
  static constexpr int kReturnAddressWords = 0;
  static constexpr int kReturnSlotWords = -1;
  static constexpr bool kHasExceptionIndex = false;
  static constexpr bool kHasFrameRecords = true;
  static constexpr int kFrameRecordWords = 0;
  static constexpr bool kSignsReturnAddresses = true;
  static constexpr bool kTagsReturnAddresses = true;
  static constexpr uint64_t kRedZoneBytes = 0;

  // In the frame of a signal handler's return trampoline, SP points at the siginfo (128), behind it the ucontext: uc_flags 8, uc_link 8, uc_stack 24, the mask with room for more
  // 128, 8 for alignment, then the fault's address 8, x0 to x30, sp, pc. Offsets of the interrupted registers from SP:
  static constexpr bool kNeedsRestorer = false;    // of a handler, from sigaction: the kernel has none of its own
  static constexpr uint64_t kSignalContext = 128;  // of the ucontext itself
  static constexpr uint64_t kSignalRegisters = 128 + 176 + 8;
  static constexpr uint64_t kSignalFramePointer = kSignalRegisters + 29 * 8;
  static constexpr uint64_t kSignalLinkRegister = kSignalRegisters + 30 * 8;
  static constexpr uint64_t kSignalStackPointer = kSignalRegisters + 31 * 8;
  static constexpr uint64_t kSignalProgramCounter = kSignalRegisters + 32 * 8;
  static constexpr uint64_t kSignalMask = 128 + 40;

  // Address width that the kernel was built for; signatures are in the bits above (NT_ARM_PAC_MASK gives them).
  unsigned address_bits = 48;
  [[nodiscard]] constexpr uint64_t address_mask() const { return (uint64_t{1} << address_bits) - 1; }
};

}  // namespace heaptap::arch::aarch64
