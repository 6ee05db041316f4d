// Reader that makes a LoadedObject from a mapped object: its functions, and the locations of its unwind tables.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "elf/mapped_object.h"
#include "elf/object_file.h"
#include "model/note.h"
#include "model/told_functions.h"
#include "tracer/function_finder.h"
#include "tracer/loaded_objects.h"
#include "tracer/watched_names.h"
#include "wire/architecture.h"

namespace heaptap::tracer {

struct ReadObject {
  LoadedObject object;
  ObjectSymbols symbols;  // its functions are in `object`
  base::UniqueFd file;    // stay open where they contain the object's .debug_frame
  base::UniqueFd debug_file;
  std::vector<model::Note> notes;
};

struct ObjectQuestion {
  pid_t thread;  // a live one
  const elf::MappedObject& mapped;
  std::string path;
  bool is_program;
  const WatchedNames& names;
  wire::Architecture architecture = wire::Architecture::kUnknown;
  const model::ToldFunctions* told = nullptr;  // null: no machine was asked
};
ReadObject read_object(const elf::ByteSource& memory, elf::ElfForm form, const ObjectQuestion& question);

}  // namespace heaptap::tracer
