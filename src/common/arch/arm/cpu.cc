// Facts of 32-bit ARM's programs.
#include "common/arch/arm/cpu.h"

#include <elf.h>

#include "common/arch/arm/registers.h"
#include "common/arch/untraced_cpu.h"

namespace heaptap::arch::arm {
namespace {

constexpr UntracedCpu kCpu({.architecture = kArchitecture,
                            .elf_machine = EM_ARM,
                            .word_bytes = sizeof(Unwinding::Word),
                            .is_big_endian = false});

}  // namespace

const Cpu& cpu() { return kCpu; }

}  // namespace heaptap::arch::arm
