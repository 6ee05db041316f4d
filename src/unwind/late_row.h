// A row that came from elsewhere, as far as it may be believed. Freestanding.
#pragma once
#include <stdint.h>

#include "unwind/cpu_facts.h"
#include "unwind/row.h"

namespace heaptap::unwind {

// What of a word that anybody may have written is a row of this CPU; kNoTable: nothing. Such a row leads to wrong places at worst:
// each step goes towards the stack's end (step.h), which only reads what is known to be stack.
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
      // Elsewhere than below the CFA no call leaves a return address; below it, each step goes upwards.
      return kHasLinkRegister<Cpu> || row.ra_words() == Cpu::kReturnAddressWords ? row : kUnsupported;
    case RowKind::kFrameIndirect:
      return row.ra_words() == Cpu::kReturnAddressWords ? row : kUnsupported;
    case RowKind::kStackLeaf:
    case RowKind::kFrameLeaf:
    case RowKind::kStackRecord:
    case RowKind::kFrameRecord:
      return kHasLinkRegister<Cpu> ? row : kUnsupported;
    default:
      return kNoTable;
  }
}

}  // namespace heaptap::unwind
