// The test program as a module: certainly mapped, with a build-id and a file.
#pragma once
#include <link.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>

#include "common/model/tables.h"
#include "common/wire/log.h"

namespace heaptap::test {

// This program, as an agent would report it.
inline model::Module own_program() {
  model::Module module;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* to) {
        auto& found = *static_cast<model::Module*>(to);
        found.bias = info->dlpi_addr;
        for (const ElfW(Phdr) & segment : std::span(info->dlpi_phdr, info->dlpi_phnum)) {
          const uint64_t begin = info->dlpi_addr + segment.p_vaddr;
          if (segment.p_type == PT_LOAD && found.start == 0) found.start = begin & ~uint64_t{4095};
          if (segment.p_type == PT_LOAD) found.end = begin + segment.p_memsz;
          if (segment.p_type != PT_NOTE) continue;
          const auto* at = reinterpret_cast<const char*>(begin);
          for (const char* const end = at + segment.p_memsz; at < end;) {
            ElfW(Nhdr) note;
            std::memcpy(&note, at, sizeof(note));
            const char* const value = at + sizeof(note) + ((note.n_namesz + 3) & ~3U);
            if (note.n_type == NT_GNU_BUILD_ID) found.build_id.assign(value, note.n_descsz);
            at = value + ((note.n_descsz + 3) & ~3U);
          }
        }
        return 1;  // the first one is the program
      },
      &module);
  module.path = std::filesystem::read_symlink("/proc/self/exe").string();
  module.flags = wire::kModuleIsMain;
  return module;
}

}  // namespace heaptap::test
