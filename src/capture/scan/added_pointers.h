// Pointers of blocks that are found after all others, and are added to the scan in their places. Private to scan/.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "common/model/heap_scan.h"

namespace heaptap::scan {

// Word of a block that leads to another block.
struct BlockWord {
  uint32_t from;    // index into HeapScan::blocks
  uint32_t offset;  // of the word in its block, in words
  uint32_t to;
};

// `words` ascend by block and offset. kind_of(word) is its wire::PointerKind.
template <typename KindOf>
void add_pointers(model::HeapScan& scan, std::span<const BlockWord> words, KindOf kind_of) {
  if (words.empty()) return;
  std::vector<model::BlockPointer> all;
  all.reserve(scan.pointers.size() + words.size());
  auto next = words.begin();
  const auto add_next = [&] {
    all.push_back({.to = next->to, .offset = next->offset, .kind = kind_of(*next)});
    ++next;
  };
  for (uint32_t from = 0; from < scan.blocks.size(); ++from) {
    const uint32_t begin = scan.pointers_begin[from];
    scan.pointers_begin[from] = static_cast<uint32_t>(all.size());
    const std::span own = std::span(scan.pointers).subspan(begin, scan.pointers_begin[from + 1] - begin);
    for (const model::BlockPointer& pointer : own) {
      while (next != words.end() && next->from == from && next->offset < pointer.offset) add_next();
      all.push_back(pointer);
    }
    while (next != words.end() && next->from == from) add_next();
  }
  scan.pointers_begin[scan.blocks.size()] = static_cast<uint32_t>(all.size());
  scan.pointers = std::move(all);
}

}  // namespace heaptap::scan
