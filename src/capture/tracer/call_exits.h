// Exits of a function: its return instructions, and the jumps by which it may leave for other code.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "common/arch/cpu.h"
#include "common/base/byte_source.h"

namespace heaptap::tracer {

struct CallExits {
  std::vector<uint64_t> returns;
  // Jumps with targets known only at run time, and jumps to other watched functions.
  std::vector<uint64_t> tail_jumps;
  bool complete = true;  // false: some of its instructions were not understood
};

struct FunctionCode {
  uint64_t start = 0;
  uint64_t size_bytes = 0;  // 0: unknown
  // Decodes only reachable instructions: there may be data in between.
  bool may_have_data = false;
};

// Follows parts of the function that lie elsewhere; `is_watched(address)` reports the start of another watched
// function. `memory` has the code without breakpoints.
CallExits find_call_exits(const arch::Cpu& cpu, const base::ByteSource& memory, const FunctionCode& function,
                          const std::function<bool(uint64_t)>& is_watched);

}  // namespace heaptap::tracer
