// Facts of 32-bit PowerPC's programs.
#include "common/arch/powerpc/cpu.h"

#include <elf.h>

#include "common/arch/powerpc/registers.h"
#include "common/arch/untraced_cpu.h"

namespace heaptap::arch::powerpc {
namespace {

constexpr UntracedCpu kCpu({.architecture = kArchitecture,
                            .elf_machine = EM_PPC,
                            .word_bytes = sizeof(Unwinding::Word),
                            .is_big_endian = true});

}  // namespace

const Cpu& cpu() { return kCpu; }

}  // namespace heaptap::arch::powerpc
