// What a block's first words say about pointers into its middle. The patterns are those of Valgrind's
// --leak-check-heuristics; see wire::PointerKind. Private to leaks/.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "host/model/heap_scan.h"

namespace heaptap::leaks {

class BlockHeads {
 public:
  static constexpr size_t kHeadWords = 3;
  static constexpr uint64_t kCookieBytes = 8;       // in front of an array's elements
  static constexpr uint64_t kStringHeadBytes = 24;  // length, capacity and reference count in front of the characters

  BlockHeads() = default;
  explicit BlockHeads(size_t blocks) : patterns_(blocks, 0) {}

  // `words`: of the block's beginning, with 0 for what is behind its end.
  void note(uint32_t block, uint64_t size, const uint64_t words[kHeadWords]);

  // A word of an object (block) with a vtable, behind its first, that points to a vtable as well. Positions ascend.
  void note_inner_vtable(uint64_t position) { inner_vtables_.push_back(position); }

  // `pointer` is inside the block, or where its elements would be if it is an empty array; of which `block` is the number.
  [[nodiscard]] wire::PointerKind kind_of(uint64_t pointer, const model::ScannedBlock& held, uint32_t block) const;

  // The memory of new T[0] is its cookie alone, and the program keeps a pointer just behind it.
  [[nodiscard]] bool is_empty_array(uint32_t block) const { return (patterns_[block] & kEmptyArray) != 0; }

 private:
  static constexpr uint8_t kArrayCookie = 1;
  static constexpr uint8_t kStdString = 2;
  static constexpr uint8_t kLength64 = 4;
  static constexpr uint8_t kEmptyArray = 8;

  std::vector<uint8_t> patterns_;
  std::vector<uint64_t> inner_vtables_;
};

}  // namespace heaptap::leaks
