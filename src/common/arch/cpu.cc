#include "common/arch/cpu.h"

#include "common/arch/aarch64/cpu.h"
#include "common/arch/arm/cpu.h"
#include "common/arch/i386/cpu.h"
#include "common/arch/native.h"
#include "common/arch/powerpc/cpu.h"
#include "common/arch/walked_cpus.h"
#include "common/arch/x86_64/cpu.h"

namespace heaptap::arch {
namespace {

template <typename Predicate>
const Cpu* first_cpu([[maybe_unused]] Predicate is_wanted) {
#define HEAPTAP_OFFER(name) \
  if (is_wanted(name::cpu())) return &name::cpu();
  HEAPTAP_WALKED_CPUS(HEAPTAP_OFFER)
#undef HEAPTAP_OFFER
  return nullptr;
}

}  // namespace

const Cpu* cpu_of(wire::Architecture architecture) {
  return first_cpu([&](const Cpu& cpu) { return cpu.architecture() == architecture; });
}

const Cpu* cpu_of_elf(uint16_t machine, unsigned word_bytes) {
  return first_cpu([&](const Cpu& cpu) { return cpu.elf_machine() == machine && cpu.word_bytes() == word_bytes; });
}

bool is_traced_here(wire::Architecture architecture) {
  for (const wire::Architecture traced : native::kTraced) {
    if (traced == architecture) return true;
  }
  return false;
}

const Cpu* cpu_of_registers(const RegisterImage& registers) {
  return first_cpu([&](const Cpu& cpu) { return cpu.runs(registers) && is_traced_here(cpu.architecture()); });
}

}  // namespace heaptap::arch
