// Modules noted in a log (common/wire/module_notes.h), with their generations: which of several objects mapped in turn at an
// address a code entry refers to. Counterpart of agent/core/modules.h.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "capture/tracer/loaded_objects.h"
#include "common/wire/log.h"
#include "common/wire/module_notes.h"

namespace heaptap::tracer {

class ModuleList {
 public:
  // `layout`: a checked copy of the header's.
  ModuleList(wire::LogHeader& log, const wire::LogLayout& layout) : notes_(log, layout) {}

  // Returns the generation of its range. An object that was there before keeps its generation, and isn't noted again.
  uint32_t add(const LoadedObject& object);

 private:
  struct Noted {
    uint64_t start;
    uint64_t end;
    std::string identity;  // path and build-id
    uint32_t generation;
  };

  wire::ModuleNotes notes_;
  std::vector<Noted> noted_;
};

}  // namespace heaptap::tracer
