#include "scan/entrances.h"

#include <algorithm>
#include <span>

namespace heaptap::scan {
namespace {

using wire::PointerKind;

// Pointers of all other kinds are as good as those to the start.
bool is_certain(PointerKind kind) { return kind != PointerKind::kInterior && kind != PointerKind::kTagged; }

void note(Entrances& known, uint32_t offset) {
  known.first = std::min(known.first, offset);
  known.last = std::max(known.last, offset);
}

void note_certain(Entrances& known, bool is_held) {
  known.first = 0;
  known.is_held |= is_held;
}

void note_certain_of_blocks(const model::HeapScan& scan, std::vector<Entrances>& entrances) {
  std::vector<uint32_t> pointed_into_by(scan.blocks.size(), model::kNoBlock);  // the last block that does
  for (uint32_t from = 0; from < scan.blocks.size(); ++from) {
    const uint32_t begin = scan.pointers_begin[from];
    const auto own = std::span(scan.pointers).subspan(begin, scan.pointers_begin[from + 1] - begin);
    for (const model::BlockPointer& pointer : own) {
      if (!is_certain(pointer.kind)) pointed_into_by[pointer.to] = from;
    }
    for (const model::BlockPointer& pointer : own) {
      if (is_certain(pointer.kind)) note_certain(entrances[pointer.to], pointed_into_by[pointer.to] == from);
    }
  }
}

}  // namespace

std::vector<Entrances> find_entrances(const model::HeapScan& scan, const InteriorPointers& pointers,
                                      const InteriorPointers& roots) {
  std::vector<Entrances> entrances(scan.blocks.size());
  for (const auto& entry : pointers.entries()) note(entrances[scan.pointers[entry.pointer].to], entry.offset);
  for (const auto& entry : roots.entries()) note(entrances[scan.roots[entry.pointer].to], entry.offset);
  note_certain_of_blocks(scan, entrances);
  for (const model::RootPointer& root : scan.roots) {
    if (is_certain(root.kind)) note_certain(entrances[root.to], true);
  }
  return entrances;
}

}  // namespace heaptap::scan
