#include "capture/scan/entrances.h"

#include <algorithm>
#include <span>
#include <utility>

namespace heaptap::scan {
namespace {

using wire::PointerKind;

// All other kinds of pointers are as good as those to the start.
bool is_certain(PointerKind kind) { return kind != PointerKind::kInterior && kind != PointerKind::kTagged; }

class EntranceFinder {
 public:
  EntranceFinder(const model::HeapScan& scan, unsigned word_bytes)
      : scan_(scan), word_bytes_(word_bytes), entrances_(scan.blocks.size()) {}

  std::vector<Entrances> find(const InteriorPointers& pointers, const InteriorPointers& roots) {
    for (const auto& entry : pointers.entries()) note(scan_.pointers[entry.pointer].to, entry.offset);
    for (const auto& entry : roots.entries()) note(scan_.roots[entry.pointer].to, entry.offset);
    note_certain_of_blocks();
    for (const model::RootPointer& root : scan_.roots) {
      if (is_certain(root.kind)) note_certain(root, true);
    }
    return std::move(entrances_);
  }

 private:
  void note(uint32_t block, uint32_t offset) {
    Entrances& known = entrances_[block];
    known.first = std::min(known.first, offset);
    known.last = std::max(known.last, offset);
    known.shares |= share_bit(share_before(scan_.blocks[block].size_bytes, offset));
  }

  template <typename Pointer>
  void note_certain(const Pointer& pointer, bool is_held) {
    if (pointer.kind == PointerKind::kArrayCookie) return note(pointer.to, word_bytes_);
    entrances_[pointer.to].first = 0;
    entrances_[pointer.to].is_held |= is_held;
  }

  void note_certain_of_blocks() {
    std::vector<uint32_t> pointed_into_by(scan_.blocks.size(), model::kNoBlock);  // the last block that has one
    for (uint32_t from = 0; from < scan_.blocks.size(); ++from) {
      const uint32_t begin = scan_.pointers_begin[from];
      const auto own = std::span(scan_.pointers).subspan(begin, scan_.pointers_begin[from + 1] - begin);
      for (const model::BlockPointer& pointer : own) {
        if (!is_certain(pointer.kind)) pointed_into_by[pointer.to] = from;
      }
      for (const model::BlockPointer& pointer : own) {
        if (is_certain(pointer.kind)) note_certain(pointer, pointed_into_by[pointer.to] == from);
      }
    }
  }

  const model::HeapScan& scan_;
  const uint32_t word_bytes_;
  std::vector<Entrances> entrances_;
};

}  // namespace

std::vector<Entrances> find_entrances(const model::HeapScan& scan, const InteriorPointers& pointers,
                                      const InteriorPointers& roots, unsigned word_bytes) {
  return EntranceFinder(scan, word_bytes).find(pointers, roots);
}

}  // namespace heaptap::scan
