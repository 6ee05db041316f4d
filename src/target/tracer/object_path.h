// How an object of a process is called in its trace: as the process's dynamic loader calls it, which is what the agent tells.
#pragma once
#include <sys/types.h>

#include <string>

#include "target/tracer/loader_list.h"
#include "target/tracer/mapped_object.h"

namespace heaptap::tracer {

struct PathQuestion {
  pid_t thread;  // a live one
  const MappedObject& mapped;
  const AuxiliaryVector& auxiliary;
  const LoaderList& list;
  const std::string& interpreter;  // that the program asks for
};
std::string object_path(const ByteSource& memory, ElfForm form, const PathQuestion& question);

}  // namespace heaptap::tracer
