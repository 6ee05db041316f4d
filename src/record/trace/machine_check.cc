#include "record/trace/machine_check.h"

#include "common/model/page_size.h"
#include "common/wire/architecture.h"

namespace heaptap::trace {

base::Result<> check_machine(const model::Capture& capture) {
  if (capture.word_bytes != 4 && capture.word_bytes != 8) {
    return base::fail("words of {} bytes", capture.word_bytes);
  }
  if (!model::is_page_size(capture.page_bytes)) return base::fail("pages of {} bytes", capture.page_bytes);
  for (const wire::Architecture known : wire::kArchitectures) {
    if (capture.architecture != wire::name_of(known)) continue;
    if (capture.elf_machine != 0 && capture.elf_machine != wire::elf_machine_of(known)) {
      return base::fail("an {} with programs of ELF machine {}", capture.architecture, capture.elf_machine);
    }
    if (capture.big_endian != wire::is_big_endian(known))
      return base::fail("{}-endian words of {}", capture.big_endian ? "big" : "little", capture.architecture);
  }
  return {};
}

}  // namespace heaptap::trace
