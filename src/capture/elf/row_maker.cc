#include "capture/elf/row_maker.h"

#include <algorithm>
#include <vector>

#include "common/arch/walked_cpus.h"
#include "common/unwind/cfi.h"
#include "common/unwind/fde_scan.h"

namespace heaptap::elf {
namespace {

using unwind::CfiTables;
using unwind::Row;
using unwind::RowKind;

struct Piece {
  uint64_t begin;
  uint64_t end;
  uint64_t row;
};
constexpr size_t kMaxPieces = model::RowTable::kMaxRows;

// Signal trampolines are left out: the machine recognizes them by their code.
uint64_t word_of(Row row) { return row.kind() == RowKind::kSignal ? 0 : row.word(); }

template <typename Cpu, typename Form>
void append_pieces(std::span<const uint8_t> section, uint64_t address, bool is_swapped, std::vector<Piece>& pieces) {
  const CfiTables tables{
      .start = address, .end = address + section.size(), .mapped = section.data(), .is_swapped = is_swapped};
  unwind::for_each_fde<Cpu, Form>(tables, address, [&](uint64_t, uint64_t, uint64_t fde) {
    // Offset 0 stands for none, so an FDE at the start of the section is not used.
    if (pieces.size() >= kMaxPieces) return;
    unwind::for_each_row<Cpu, Form>(tables, fde, [&](uint64_t begin, uint64_t end, Row row) {
      if (pieces.size() < kMaxPieces) pieces.push_back({begin, end, word_of(row)});
    });
  });
}

// Where pieces overlap, the one that begins last applies, up to its end.
model::RowTable table_of(std::vector<Piece> pieces) {
  std::ranges::stable_sort(pieces, {}, &Piece::begin);
  model::RowTable table;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const Piece& piece = pieces[i];
    if (!table.add(piece.begin, piece.row)) break;
    const bool is_last = i + 1 == pieces.size();
    if ((is_last || pieces[i + 1].begin > piece.end) && !table.add(piece.end, 0)) break;
  }
  return table;
}

}  // namespace

model::RowTable make_rows(const FrameSections& sections, std::optional<uint64_t> wanted) {
  model::RowTable table;
  arch::visit_walked_cpu(sections.architecture, [&]<typename Cpu>(Cpu) {
    std::vector<Piece> pieces;
    append_pieces<typename Cpu::Rules, unwind::cfi::DebugFrame>(sections.debug_frame, 0, sections.is_swapped, pieces);
    table = table_of(pieces);
    const bool lacks_all = wanted == model::kNoRowAnywhere;
    if (!wanted || (!lacks_all && table.row_at(*wanted) != 0)) return;
    append_pieces<typename Cpu::Rules, unwind::cfi::EhFrame>(sections.eh_frame, sections.eh_frame_address,
                                                             sections.is_swapped, pieces);
    model::RowTable with_both = table_of(std::move(pieces));
    if (lacks_all || with_both.row_at(*wanted) != 0) table = std::move(with_both);
  });
  return table;
}

}  // namespace heaptap::elf
