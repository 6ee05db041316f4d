#include "capture/scan/aligned_pointers.h"

namespace heaptap::scan {

void mark_aligned_pointers(model::HeapScan& scan, const InteriorPointers& pointers, const InteriorPointers& roots) {
  const auto mark = [&scan](auto& pointer, uint32_t offset, bool is_variable) {
    const bool is_aligned = pointer.kind == wire::PointerKind::kInterior &&
                            is_to_aligned_place(scan.blocks[pointer.to], offset, is_variable);
    if (is_aligned) pointer.kind = wire::PointerKind::kAligned;
  };
  for (const auto& entry : pointers.entries()) mark(scan.pointers[entry.pointer], entry.offset, false);
  for (const auto& entry : roots.entries()) {
    model::RootPointer& root = scan.roots[entry.pointer];
    mark(root, entry.offset, root.root == wire::RootKind::kGlobal);
  }
}

}  // namespace heaptap::scan
