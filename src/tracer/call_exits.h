// Where a function ends: its return instructions, and the jumps by which it may leave for other code.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "arch/cpu.h"

namespace heaptap::tracer {

struct CallExits {
  std::vector<uint64_t> returns;
  // Jumps to where is only known when they are taken, and jumps to other functions that are watched.
  std::vector<uint64_t> tail_jumps;
  bool complete = true;  // false: not all of its instructions were understood
};

struct FunctionCode {
  uint64_t start = 0;
  uint64_t size_bytes = 0;  // 0: not known
  // Only the instructions that others are seen to lead to are looked at: what lies between them may be data.
  bool may_have_data = false;
};

// Parts of the function that lie elsewhere are followed; `is_watched(address)` tells where another watched function begins. The code
// must be free of breakpoints.
CallExits find_call_exits(const arch::Cpu& cpu, arch::TargetMemory& memory, const FunctionCode& function,
                          const std::function<bool(uint64_t)>& is_watched);

}  // namespace heaptap::tracer
