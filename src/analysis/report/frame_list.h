// List of a stack's frames. A report keeps each frame once, in one table; stacks are lists of indexes into it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "common/model/frame.h"

namespace heaptap::report {

using FrameIndex = uint32_t;
inline constexpr FrameIndex kNoFrame = ~FrameIndex{0};

// Frames in order, innermost first: a whole table, or those that `indices` select. Refers to both, owns neither.
class FrameList {
 public:
  FrameList() = default;
  explicit FrameList(const std::vector<model::Frame>& frames) : table_(frames.data()), size_(frames.size()) {}
  FrameList(std::span<const model::Frame> table, std::span<const FrameIndex> indices)
      : table_(table.data()), indices_(indices.data()), size_(indices.size()) {}

  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  const model::Frame& operator[](size_t place) const { return table_[indices_ == nullptr ? place : indices_[place]]; }
  [[nodiscard]] const model::Frame& front() const { return (*this)[0]; }
  [[nodiscard]] const model::Frame& back() const { return (*this)[size_ - 1]; }

  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = model::Frame;
    using difference_type = std::ptrdiff_t;
    using pointer = const model::Frame*;
    using reference = const model::Frame&;

    Iterator() = default;
    Iterator(const FrameList* list, size_t place) : list_(list), place_(place) {}
    reference operator*() const { return (*list_)[place_]; }
    pointer operator->() const { return &**this; }
    Iterator& operator++() {
      ++place_;
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const Iterator&) const = default;

   private:
    const FrameList* list_ = nullptr;
    size_t place_ = 0;
  };
  // Valid as long as the list itself.
  [[nodiscard]] Iterator begin() const { return {this, 0}; }
  [[nodiscard]] Iterator end() const { return {this, size_}; }

 private:
  const model::Frame* table_ = nullptr;
  const FrameIndex* indices_ = nullptr;  // null: the whole table, in order
  size_t size_ = 0;
};

}  // namespace heaptap::report
