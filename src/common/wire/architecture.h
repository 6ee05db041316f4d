// CPU architectures of traces, as numbers. Freestanding.
#pragma once
#include <elf.h>
#include <stdint.h>

namespace heaptap::wire {

enum class Architecture : uint32_t { kUnknown = 0, kX86_64 = 1, kI386 = 2, kAArch64 = 3, kArm = 4, kPowerPc = 5 };
// The known ones; all but PowerPC are little-endian.
inline constexpr Architecture kArchitectures[] = {Architecture::kX86_64, Architecture::kI386, Architecture::kAArch64,
                                                  Architecture::kArm, Architecture::kPowerPc};

constexpr const char* name_of(Architecture architecture) {
  switch (architecture) {
    case Architecture::kX86_64:
      return "x86_64";
    case Architecture::kI386:
      return "i386";
    case Architecture::kAArch64:
      return "aarch64";
    case Architecture::kArm:
      return "arm";
    case Architecture::kPowerPc:
      return "powerpc";
    case Architecture::kUnknown:
      break;
  }
  return "unknown";
}

// ELF e_machine of its programs.
constexpr uint16_t elf_machine_of(Architecture architecture) {
  switch (architecture) {
    case Architecture::kX86_64:
      return EM_X86_64;
    case Architecture::kI386:
      return EM_386;
    case Architecture::kAArch64:
      return EM_AARCH64;
    case Architecture::kArm:
      return EM_ARM;
    case Architecture::kPowerPc:
      return EM_PPC;
    case Architecture::kUnknown:
      break;
  }
  return EM_NONE;
}

constexpr bool is_big_endian(Architecture architecture) { return architecture == Architecture::kPowerPc; }

}  // namespace heaptap::wire
