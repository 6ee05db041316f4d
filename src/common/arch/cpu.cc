#include "common/arch/cpu.h"

#include "common/arch/i386/cpu.h"
#include "common/arch/x86_64/cpu.h"

namespace heaptap::arch {
namespace {

template <typename Predicate>
const Cpu* first_cpu(Predicate is_wanted) {
  const Cpu* const all[] = {&x86_64::cpu(), &i386::cpu()};
  for (const Cpu* cpu : all) {
    if (is_wanted(*cpu)) return cpu;
  }
  return nullptr;
}

}  // namespace

const Cpu* cpu_of(wire::Architecture architecture) {
  return first_cpu([&](const Cpu& cpu) { return cpu.architecture() == architecture; });
}

const Cpu* cpu_of_elf(uint16_t machine, unsigned word_bytes) {
  return first_cpu([&](const Cpu& cpu) { return cpu.elf_machine() == machine && cpu.word_bytes() == word_bytes; });
}

const Cpu* cpu_of_registers(const RegisterImage& registers) {
  return first_cpu([&](const Cpu& cpu) { return cpu.runs(registers); });
}

}  // namespace heaptap::arch
