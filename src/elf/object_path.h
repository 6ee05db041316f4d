// How an object of a process is called in its trace: as the process's dynamic loader calls it, which is what the agent tells.
#pragma once
#include <sys/types.h>

#include <string>

#include "elf/loader_list.h"
#include "elf/mapped_object.h"

namespace heaptap::elf {

struct PathQuestion {
  pid_t thread;  // a live one
  const MappedObject& mapped;
  const AuxiliaryVector& auxiliary;
  const LoaderList& list;
  const std::string& interpreter;  // that the program asks for
};
std::string object_path(const ByteSource& memory, ElfForm form, const PathQuestion& question);

}  // namespace heaptap::elf
