// Unwinding facts of 32-bit ARM: registers and frames. Sources: DWARF for the Arm Architecture, 4.1 (register numbers); Exception
// Handling ABI for the Arm Architecture; Linux arch/arm/kernel/signal.h, arch/arm/include/uapi/asm/{ucontext,sigcontext}.h.
#pragma once
#include <stdint.h>

#include <array>

#include "common/wire/architecture.h"

namespace heaptap::arch::arm {

inline constexpr wire::Architecture kArchitecture = wire::Architecture::kArm;

// None yet.
inline constexpr std::array<wire::Architecture, 0> kTraced{};

inline constexpr const char kGlibcLoader[] = "ld-linux-armhf.so.3";

// CPU facts for the unwinder. The frame pointer is that of Thumb code, r7. ARM code has r11: frames that need it can't be walked.
struct Unwinding {
  using Word = uint32_t;
  static constexpr uint32_t kStackPointer = 13;  // DWARF numbers
  static constexpr uint32_t kFramePointer = 7;
  static constexpr uint32_t kReturnAddress = 14;
  static constexpr int kReturnAddressWords = 0;
  static constexpr int kReturnSlotWords = -1;
  static constexpr bool kHasExceptionIndex = true;
  static constexpr bool kHasFrameRecords = false;  // GCC's frame pointer points below the local variables
  static constexpr int kFrameRecordWords = 0;
  static constexpr bool kSignsReturnAddresses = false;
  static constexpr bool kTagsReturnAddresses = true;
  static constexpr uint64_t kRedZoneBytes = 0;

  // In the frame of a signal handler with the signal's description (SA_SIGINFO), SP points at that (128), behind it the ucontext:
  // uc_flags 4, uc_link 4, uc_stack 12, trap_no 4, error_code 4, oldmask 4, then r0 to pc. Offsets of the interrupted registers from SP:
  static constexpr bool kNeedsRestorer = false;    // of a handler, from sigaction: the kernel has its own
  static constexpr uint64_t kSignalContext = 128;  // of the ucontext itself
  static constexpr uint64_t kSignalRegisters = 128 + 20 + 12;
  static constexpr uint64_t kSignalFramePointer = kSignalRegisters + 7 * 4;
  static constexpr uint64_t kSignalStackPointer = kSignalRegisters + 13 * 4;
  static constexpr uint64_t kSignalLinkRegister = kSignalRegisters + 14 * 4;
  static constexpr uint64_t kSignalProgramCounter = kSignalRegisters + 15 * 4;
  static constexpr uint64_t kSignalMask = kSignalRegisters + 16 * 4 + 8;  // behind cpsr and fault_address

  // The lowest bit of a return address says which instruction set the code has.
  [[nodiscard]] static constexpr uint64_t address_mask() { return 0xfffffffe; }
};

}  // namespace heaptap::arch::arm
