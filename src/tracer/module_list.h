// The loaded objects that are noted in a log (wire/module_notes.h), and their generations: which of several that were mapped at an
// address in turn a code entry means. agent/core/modules.h is that inside a target.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "tracer/loaded_objects.h"
#include "wire/log.h"
#include "wire/module_notes.h"

namespace heaptap::tracer {

class ModuleList {
 public:
  // `layout`: a copy of the header's that was checked.
  ModuleList(wire::LogHeader& log, const wire::LogLayout& layout) : notes_(log, layout) {}

  // Gives the generation of its range. One that was there before means what it meant, and isn't noted again.
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
