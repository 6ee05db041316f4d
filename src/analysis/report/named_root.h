// Root of a leak scan, by name.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "common/model/frame.h"

namespace heaptap::report {

struct NamedRoot {
  std::string kind;  // one of wire::kRootKindNames
  std::string name;  // of the variable or the register; empty: unknown
  std::string file;  // of the variable's definition
  uint32_t line = 0;
  std::string module;   // path of the variable's module
  uint64_t offset = 0;  // in the variable; in the module (or its thread-local segment) if no variable is known
  uint32_t thread = 0;
  std::string thread_name;
  uint64_t address = 0;               // of the pointer; none for a register
  std::optional<model::Frame> frame;  // of a stack root
};

}  // namespace heaptap::report
