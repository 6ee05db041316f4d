// Validation of late rows, which come from outside. Freestanding.
#pragma once
#include <stdint.h>

#include "common/unwind/cpu_facts.h"
#include "common/unwind/row.h"

namespace heaptap::unwind {

// The valid row in an untrusted word for this CPU; kNoTable: none. Such a row can at worst lead to wrong frames: each
// step goes towards the stack's end (step.h), which only reads known stack memory.
template <UnwoundCpu Cpu>
constexpr Row late_row(uint64_t word) {
  const Row row = Row::of_word(word);
  constexpr Row kNoTable(RowKind::kNoTable);
  constexpr Row kUnsupported(RowKind::kUnsupported);
  switch (row.kind()) {
    case RowKind::kEnd:
    case RowKind::kUnsupported:
      return Row(row.kind());
    case RowKind::kStackOffset:
    case RowKind::kFrameOffset:
      // A call leaves its return address only below the CFA; with that, each step goes upwards.
      return kHasLinkRegister<Cpu> || row.ra_words() == Cpu::kReturnAddressWords ? row : kUnsupported;
    case RowKind::kFrameIndirect:
      return row.ra_words() == Cpu::kReturnAddressWords ? row : kUnsupported;
    case RowKind::kStackLeaf:
    case RowKind::kFrameLeaf:
    case RowKind::kStackRecord:
    case RowKind::kFrameRecord:
    case RowKind::kStackReturn:
    case RowKind::kStackPair:
    case RowKind::kFramePair:
      return kHasLinkRegister<Cpu> ? row : kUnsupported;
    default:
      return kNoTable;
  }
}

}  // namespace heaptap::unwind
