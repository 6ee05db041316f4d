// Rows and functions by the tables that a loaded object has in memory, in its CPU's form. Freestanding.
#pragma once
#include <stdint.h>

#include "common/unwind/cfi.h"
#include "common/unwind/exception_index.h"
#include "common/unwind/step.h"

namespace heaptap::unwind {

// The row of a frame with this key (step.h). kNoTable: the tables don't have one.
template <UnwoundCpu Cpu>
Row find_loaded_row(const CfiTables& tables, uint64_t key) {
  const uint64_t pc = instruction_of(key);
  if constexpr (Cpu::kHasExceptionIndex) {
    return (key & wire::kCodeExact) != 0 ? Row(RowKind::kNoTable) : find_indexed_row<Cpu>(tables, pc);
  } else {
    return find_row<Cpu>(tables, pc);
  }
}

// Where the function of pc begins. 0: unknown.
template <UnwoundCpu Cpu>
uint64_t find_loaded_function(const CfiTables& tables, uint64_t pc) {
  if constexpr (Cpu::kHasExceptionIndex) {
    return indexed_function_of(tables, pc);
  } else {
    return function_of<Cpu>(tables, pc);
  }
}

}  // namespace heaptap::unwind
