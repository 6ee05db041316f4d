// Objects of a process as listed by kernel and dynamic loader: the auxiliary vector, and the loader's list for
// debuggers (r_debug and link_map of <link.h>; glibc and musl are alike in the parts used).
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "capture/elf/elf_headers.h"
#include "common/base/byte_source.h"

namespace heaptap::elf {

struct AuxiliaryVector {
  uint64_t program_headers =
      0;                // AT_PHDR, of the file started by the kernel: the program, or a loader with a program's name
  uint64_t entry = 0;   // AT_ENTRY
  uint64_t loader = 0;  // AT_BASE; 0: no loader mapped by the kernel
  uint64_t executed_path = 0;  // AT_EXECFN, the text passed to exec
};
// `bytes` from /proc/PID/auxv.
AuxiliaryVector parse_auxiliary_vector(std::string_view bytes, ElfForm form);

struct ListedObject {
  uint64_t link_map = 0;  // address of its entry
  uint64_t bias = 0;
  uint64_t dynamic = 0;  // address of its dynamic section
  std::string name;      // as known to the loader; arbitrary for the program, mostly empty
};

struct LoaderList {
  uint64_t change_notice = 0;  // r_brk
  bool is_consistent = false;
  std::vector<ListedObject> objects;  // the program is the first
};
// `list`: address of the r_debug. None: there is none (yet).
std::optional<LoaderList> read_loader_list(const base::ByteSource& memory, ElfForm form, uint64_t list);
// Its objects without names, which take one more read each. Empty: there is no list (yet).
std::vector<ListedObject> read_unnamed_objects(const base::ByteSource& memory, ElfForm form, uint64_t list);
// As above, without the objects.
std::optional<LoaderList> read_loader_state(const base::ByteSource& memory, ElfForm form, uint64_t list);

}  // namespace heaptap::elf
