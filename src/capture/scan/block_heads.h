// Patterns in the first words of blocks that explain pointers into their middle. The patterns are those of Valgrind's
// --leak-check-heuristics; see wire::PointerKind. Private to scan/.
#pragma once
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "common/model/heap_scan.h"

namespace heaptap::scan {

class BlockHeads {
 public:
  static constexpr size_t kHeadWords = 3;
  static constexpr uint64_t kMaxCookieBytes = 8;

  BlockHeads() = default;
  BlockHeads(size_t blocks, unsigned word_bytes) : word_bytes_(word_bytes), patterns_(blocks, 0) {}

  // From the patterns noted by another one.
  BlockHeads(std::vector<uint8_t> patterns, std::vector<uint64_t> inner_vtables, unsigned word_bytes)
      : word_bytes_(word_bytes), patterns_(std::move(patterns)), inner_vtables_(std::move(inner_vtables)) {}

  [[nodiscard]] unsigned word_bytes() const { return word_bytes_; }
  [[nodiscard]] const std::vector<uint8_t>& patterns() const { return patterns_; }  // by block
  [[nodiscard]] const std::vector<uint64_t>& inner_vtables() const { return inner_vtables_; }
  // Size of the count that new[] stores before an array's elements.
  [[nodiscard]] uint64_t cookie_bytes() const { return word_bytes_; }

  // `words`: the block's beginning, zero-filled after its end.
  template <typename Word>
  void note(uint32_t block, uint64_t size, const Word (&words)[kHeadWords]);

  // A word of an object (block) with a vtable, after its first, that is a vtable pointer too. Positions ascend.
  void note_inner_vtable(uint64_t position) { inner_vtables_.push_back(position); }

  // `pointer` is inside the block, or at the elements of an empty array; `block` is the block's number.
  [[nodiscard]] wire::PointerKind kind_of(uint64_t pointer, const model::ScannedBlock& held, uint32_t block) const;

  // The memory of new T[0] is only its cookie, and the program keeps a pointer right after it.
  [[nodiscard]] bool is_empty_array(uint32_t block) const { return (patterns_[block] & kEmptyArray) != 0; }

 private:
  static constexpr uint8_t kArrayCookie = 1;
  static constexpr uint8_t kStdString = 2;
  static constexpr uint8_t kLength64 = 4;
  static constexpr uint8_t kEmptyArray = 8;
  static constexpr uint8_t kWideLength = 16;  // a length of 64 bits where words are shorter
  static constexpr uint64_t kWideLengthBytes = 8;

  // Length, capacity and reference count before a string's characters.
  [[nodiscard]] uint64_t string_head_bytes() const { return uint64_t{3} * word_bytes_; }

  unsigned word_bytes_ = 8;
  std::vector<uint8_t> patterns_;
  std::vector<uint64_t> inner_vtables_;
};

}  // namespace heaptap::scan
