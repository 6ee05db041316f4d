// Unwinding facts of x86-64: registers and frames. Sources: System V ABI AMD64 (DWARF register numbers, figure 3.36;
// red zone, 3.2.2); Linux arch/x86/include/uapi/asm/{ucontext,sigcontext}.h (signal frame).
#pragma once
#include <stdint.h>

#include "common/wire/architecture.h"

namespace heaptap::arch::x86_64 {

inline constexpr wire::Architecture kArchitecture = wire::Architecture::kX86_64;

inline constexpr wire::Architecture kTraced[] = {wire::Architecture::kX86_64, wire::Architecture::kI386};

inline constexpr const char kGlibcLoader[] = "ld-linux-x86-64.so.2";

// CPU facts for the unwinder.
struct Unwinding {
  using Word = uint64_t;
  static constexpr uint32_t kStackPointer = 7;  // DWARF numbers
  static constexpr uint32_t kFramePointer = 6;
  static constexpr uint32_t kReturnAddress = 16;
  static constexpr int kReturnAddressWords = -1;  // location of a return address, from the CFA
  static constexpr int kReturnSlotWords = -1;
  static constexpr bool kHasExceptionIndex = false;
  static constexpr bool kHasFrameRecords = true;
  static constexpr int kFrameRecordWords = 0;  // location of the saved frame pointer, from the frame pointer
  static constexpr bool kSignsReturnAddresses = false;
  static constexpr bool kTagsReturnAddresses = false;
  static constexpr uint64_t kRedZoneBytes = 128;  // below SP, left alone by signal handlers (3.2.2)
  // In the frame of a signal handler's return trampoline, SP points at the ucontext: offsets of the interrupted
  // registers from there (uc_flags 8, uc_link 8, uc_stack 24, then r8-r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip).
  static constexpr bool kNeedsRestorer = true;  // of a handler, from sigaction: the kernel has none of its own
  static constexpr uint64_t kSignalContext = 0;
  static constexpr uint64_t kSignalFramePointer = 40 + 10 * 8;
  static constexpr uint64_t kSignalStackPointer = 40 + 15 * 8;
  static constexpr uint64_t kSignalProgramCounter = 40 + 16 * 8;
  static constexpr uint64_t kSignalMask = 40 + 256;  // uc_sigmask, behind the registers (struct sigcontext)

  [[nodiscard]] static constexpr uint64_t address_mask() { return (uint64_t{1} << 48) - 1; }
};

}  // namespace heaptap::arch::x86_64
