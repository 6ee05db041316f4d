#include "capture/supervision/capture_facts.h"

#include <bit>

#include "common/arch/cpu.h"
#include "common/arch/native.h"
#include "common/base/pages.h"

namespace heaptap::supervision {
namespace {

model::Machine own_machine() {
  model::Machine own;
  own.architecture = wire::name_of(arch::native::kArchitecture);
  own.elf_machine = wire::elf_machine_of(arch::native::kArchitecture);
  own.word_bytes = sizeof(void*);
  own.page_bytes = static_cast<uint32_t>(base::page_bytes());
  own.big_endian = std::endian::native == std::endian::big;
  return own;
}

}  // namespace

void set_machines(model::Capture& capture, wire::Architecture architecture) {
  const arch::Cpu* const cpu = arch::cpu_of(architecture);
  capture.architecture = wire::name_of(architecture);
  capture.elf_machine = wire::elf_machine_of(architecture);
  capture.big_endian = cpu != nullptr && cpu->is_big_endian();
  capture.recorder = own_machine();
  capture.page_bytes = capture.recorder.page_bytes;
  capture.heaptap_version = HEAPTAP_VERSION;
}

}  // namespace heaptap::supervision
