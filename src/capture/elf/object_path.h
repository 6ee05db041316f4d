// Path of an object in its trace: the name that the process's dynamic loader has for it, as the agent reports it.
#pragma once
#include <sys/types.h>

#include <string>

#include "capture/elf/loader_list.h"
#include "capture/elf/mapped_object.h"
#include "common/base/byte_source.h"

namespace heaptap::elf {

struct PathQuestion {
  pid_t thread;  // a live one
  const MappedObject& mapped;
  const AuxiliaryVector& auxiliary;
  const LoaderList& list;
  const std::string& interpreter;  // requested by the program
};
std::string object_path(const base::ByteSource& memory, ElfForm form, const PathQuestion& question);

}  // namespace heaptap::elf
