// Code of one function of an object: the range that its symbol names, and a second one where the compiler has put what it takes for
// rare, which has no symbol. The second part is found by the jumps into it.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "agent/core/code_extent.h"
#include "common/arch/native.h"
#include "common/unwind/cfi.h"

namespace heaptap::agent::python {

// Apart from the ranges below, which take much of the stack.
[[gnu::noinline]] inline unwind::Extent range_at(const unwind::CfiTables& tables, uint64_t address) {
  return unwind::range_of_function<arch::native::Unwinding>(tables, address);
}

// The range of call frame information that most of the function's jumps out of it lead into. Jumps to the beginning of a range may be
// calls of other functions, and don't count. Empty: there is none.
inline CodeExtent find_second_part(const CodeExtent& first, const unwind::CfiTables& tables) {
  constexpr uint32_t kMaxRanges = 16;
  constexpr uint32_t kMinJumps = 3;  // what looks like a jump may be a part of another instruction
  struct Range {
    unwind::Extent extent;
    uint32_t jumps;
  } ranges[kMaxRanges];
  uint32_t count = 0;
  if (tables.header == 0 || first.bytes < arch::native::kMaxJumpBytes) return {};
  for (size_t at = 0; at + arch::native::kMaxJumpBytes <= first.bytes; at += arch::native::kCodeStep) {
    const auto* const code = reinterpret_cast<const uint8_t*>(first.start + at);
    const uint64_t target = arch::native::jump_target(code, first.start + at);
    if (target == 0 || first.holds(target)) continue;
    uint32_t known = 0;
    while (known < count && !ranges[known].extent.contains(target)) ++known;
    if (known == count) {
      if (count == kMaxRanges) continue;
      const unwind::Extent extent = range_at(tables, target);
      if (extent.bytes == 0 || extent.contains(first.start)) continue;
      ranges[count++] = {extent, 0};
    }
    if (target != ranges[known].extent.begin) ++ranges[known].jumps;
  }
  const Range* best = nullptr;
  for (uint32_t i = 0; i < count; ++i) {
    if (ranges[i].jumps >= kMinJumps && (best == nullptr || ranges[i].jumps > best->jumps)) best = &ranges[i];
  }
  if (best == nullptr) return {};
  return {static_cast<uintptr_t>(best->extent.begin), static_cast<size_t>(best->extent.bytes)};
}

}  // namespace heaptap::agent::python
