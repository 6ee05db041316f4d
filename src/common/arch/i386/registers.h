// Unwinding facts of i386: registers and frames. Sources: System V ABI Intel386 (DWARF register numbers, table 2.14);
// Linux arch/x86/include/asm/sigframe.h (signal frames), arch/x86/include/uapi/asm/sigcontext.h (struct sigcontext_32),
// arch/x86/entry/vdso/vdso32/sigreturn.S (trampolines).
#pragma once
#include <stdint.h>

#include "common/wire/architecture.h"

namespace heaptap::arch::i386 {

inline constexpr wire::Architecture kArchitecture = wire::Architecture::kI386;

// CPU facts for the unwinder.
struct Unwinding {
  using Word = uint32_t;
  static constexpr uint32_t kStackPointer = 4;  // DWARF numbers
  static constexpr uint32_t kFramePointer = 5;
  static constexpr uint32_t kReturnAddress = 8;
  static constexpr int kReturnAddressWords = -1;  // location of a return address, from the CFA
  static constexpr int kReturnSlotWords = -1;
  static constexpr bool kHasExceptionIndex = false;
  static constexpr bool kHasFrameRecords = true;
  static constexpr int kFrameRecordWords = 0;  // location of the saved frame pointer, from the frame pointer
  static constexpr bool kSignsReturnAddresses = false;
  static constexpr bool kTagsReturnAddresses = false;
  static constexpr uint64_t kRedZoneBytes = 0;

  // A signal handler's return trampoline finds at SP, before its first instruction, one of two frames. Handlers with
  // SA_SIGINFO: number, pointers to siginfo and ucontext, siginfo (128), ucontext (flags 4, link 4, stack 12, registers 88,
  // mask). Others: number, registers. The registers: gs, fs, es, ds, edi, esi, ebp, esp, ebx, edx, ecx, eax, trap number, error
  // code, eip, …, 4 bytes each. Offsets from SP of the first kind:
  static constexpr uint64_t kSignalRegisters = 3 * 4 + 128 + 20;
  static constexpr uint64_t kSignalFramePointer = kSignalRegisters + 6 * 4;
  static constexpr uint64_t kSignalStackPointer = kSignalRegisters + 7 * 4;
  static constexpr uint64_t kSignalProgramCounter = kSignalRegisters + 14 * 4;
  static constexpr uint64_t kSignalMask = kSignalRegisters + 88;
  // And of the second, whose mask's first half is `oldmask` (its second half lies behind the registers).
  static constexpr uint64_t kPlainSignalRegisters = 1 * 4;
  static constexpr uint64_t kPlainSignalFramePointer = kPlainSignalRegisters + 6 * 4;
  static constexpr uint64_t kPlainSignalStackPointer = kPlainSignalRegisters + 7 * 4;
  static constexpr uint64_t kPlainSignalProgramCounter = kPlainSignalRegisters + 14 * 4;
  static constexpr uint64_t kPlainSignalMask = kPlainSignalRegisters + 20 * 4;

  [[nodiscard]] static constexpr uint64_t address_mask() { return UINT32_MAX; }
};

// The two trampolines, in the vDSO and in a libc: `mov $173,%eax; int $0x80` of the first kind, `pop %eax; mov $119,%eax;
// int $0x80` of the second.
inline constexpr uint8_t kSignalTrampoline[] = {0xb8, 0xad, 0, 0, 0, 0xcd, 0x80};
inline constexpr uint8_t kPlainSignalTrampoline[] = {0x58, 0xb8, 0x77, 0, 0, 0, 0xcd, 0x80};

}  // namespace heaptap::arch::i386
