// Address range of code.
#pragma once
#include <stdint.h>

namespace heaptap::agent {

struct CodeExtent {
  uintptr_t start;
  uintptr_t bytes;
  [[nodiscard]] bool holds(uintptr_t address) const { return address - start < bytes; }
};

}  // namespace heaptap::agent
