// Notes the loaded objects in the log, and counts generations: which of several objects that were mapped at an address in
// turn a code entry means. As src/agent/core/modules.h does it inside a target.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "tracer/loaded_objects.h"
#include "wire/log.h"

namespace heaptap::tracer {

class ModuleNotes {
 public:
  explicit ModuleNotes(wire::LogHeader& log);

  // Gives the generation of its range. One that was there before means what it meant, and isn't noted again.
  uint32_t add(const LoadedObject& object);

 private:
  struct Noted {
    uint64_t start;
    uint64_t end;
    std::string identity;  // path and build-id
    uint32_t generation;
  };

  [[nodiscard]] uint32_t next_generation(const LoadedObject& object) const;
  void write(const LoadedObject& object, uint32_t generation);

  wire::LogHeader& log_;
  std::vector<Noted> noted_;
};

}  // namespace heaptap::tracer
