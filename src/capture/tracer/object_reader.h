// Reader that makes a LoadedObject from a mapped object: its functions, and the locations of its unwind tables.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

#include "capture/elf/mapped_object.h"
#include "capture/elf/object_file.h"
#include "capture/tracer/function_finder.h"
#include "capture/tracer/loaded_objects.h"
#include "capture/tracer/watched_names.h"
#include "common/base/byte_source.h"
#include "common/base/unique_fd.h"
#include "common/model/note.h"
#include "common/model/told_functions.h"
#include "common/wire/architecture.h"

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
ReadObject read_object(const base::ByteSource& memory, elf::ElfForm form, const ObjectQuestion& question);

}  // namespace heaptap::tracer
