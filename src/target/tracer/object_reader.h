// Makes a LoadedObject of an object that is mapped: its functions, and where its unwind tables are.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

#include "target/tracer/function_finder.h"
#include "target/tracer/loaded_objects.h"
#include "target/tracer/mapped_object.h"
#include "target/tracer/object_file.h"
#include "target/tracer/watched_names.h"

namespace heaptap::tracer {

struct ReadObject {
  LoadedObject object;
  ObjectSymbols symbols;  // its functions are in `object`
  OpenFile file;          // stay open where the object's .debug_frame is in them
  OpenFile debug_file;
  std::vector<std::string> notes;
};

struct ObjectQuestion {
  pid_t thread;  // a live one
  const MappedObject& mapped;
  std::string path;
  bool is_program;
  const WatchedNames& names;
};
ReadObject read_object(const ByteSource& memory, ElfForm form, const ObjectQuestion& question);

}  // namespace heaptap::tracer
