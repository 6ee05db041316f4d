// Unwinding facts of 32-bit PowerPC: registers and frames. Sources: System V ABI, PowerPC Processor Supplement, 3-14 (stack frame), and
// Power Architecture 32-bit ABI Supplement, 3.4 (DWARF register numbers); Linux arch/powerpc/kernel/signal_32.c,
// arch/powerpc/include/uapi/asm/{ucontext,ptrace}.h.
#pragma once
#include <stdint.h>

#include <array>

#include "common/wire/architecture.h"

namespace heaptap::arch::powerpc {

inline constexpr wire::Architecture kArchitecture = wire::Architecture::kPowerPc;

// None yet.
inline constexpr std::array<wire::Architecture, 0> kTraced{};

inline constexpr const char kGlibcLoader[] = "ld.so.1";

// CPU facts for the unwinder.
struct Unwinding {
  using Word = uint32_t;
  static constexpr uint32_t kStackPointer = 1;  // DWARF numbers
  static constexpr uint32_t kFramePointer = 31;
  static constexpr uint32_t kReturnAddress = 65;
  static constexpr int kReturnAddressWords = 0;
  static constexpr int kReturnSlotWords = 1;
  static constexpr bool kHasExceptionIndex = false;
  static constexpr bool kHasFrameRecords =
      false;  // the back chain begins at the stack pointer, not at the frame pointer
  static constexpr int kFrameRecordWords = 0;
  static constexpr bool kSignsReturnAddresses = false;
  static constexpr bool kTagsReturnAddresses = false;
  static constexpr uint64_t kRedZoneBytes = 0;

  // In the frame of a signal handler with the signal's description (SA_SIGINFO), SP points at an empty frame (64) and 16 bytes more,
  // behind which is that (128), then the ucontext: uc_flags 4, uc_link 4, uc_stack 12, 28 unused, the address of the registers 4, the mask
  // with room for more 128, 12 unused, then r0 to r31, nip, msr, orig_gpr3, ctr, link. Offsets of the interrupted registers from SP:
  static constexpr bool kNeedsRestorer = false;              // of a handler, from sigaction: the kernel has its own
  static constexpr uint64_t kSignalContext = 64 + 16 + 128;  // of the ucontext itself
  static constexpr uint64_t kSignalMask = kSignalContext + 20 + 28 + 4;
  static constexpr uint64_t kSignalRegisters = kSignalMask + 128 + 12;
  static constexpr uint64_t kSignalStackPointer = kSignalRegisters + 1 * 4;
  static constexpr uint64_t kSignalFramePointer = kSignalRegisters + 31 * 4;
  static constexpr uint64_t kSignalProgramCounter = kSignalRegisters + 32 * 4;
  static constexpr uint64_t kSignalLinkRegister = kSignalRegisters + 36 * 4;

  [[nodiscard]] static constexpr uint64_t address_mask() { return 0xffffffff; }
};

}  // namespace heaptap::arch::powerpc
