// Numbers of the CPUs that a trace may come from. Freestanding.
#pragma once
#include <stdint.h>

namespace heaptap::wire {

enum class Architecture : uint32_t { kUnknown = 0, kX86_64 = 1, kI386 = 2 };

constexpr const char* name_of(Architecture architecture) {
  switch (architecture) {
    case Architecture::kX86_64:
      return "x86_64";
    case Architecture::kI386:
      return "i386";
    case Architecture::kUnknown:
      break;
  }
  return "unknown";
}

}  // namespace heaptap::wire
