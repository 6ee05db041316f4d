// Lists of a stack's frames. A report keeps each frame once, in one table; stacks are paths of a trie of indexes into it.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "analysis/report/frame_trie.h"
#include "common/model/frame.h"

namespace heaptap::report {

// Frames in order, innermost first: a whole table, or those of a stack. Refers to the table.
class FrameList {
 public:
  FrameList() = default;
  FrameList(const std::vector<model::Frame>& frames)  // NOLINT(google-explicit-constructor): a list of all of them
      : table_(frames.data()), size_(frames.size()) {}
  FrameList(const std::vector<model::Frame>& table, std::vector<FrameIndex> indices)
      : table_(table.data()), indices_(std::move(indices)), is_whole_(false), size_(indices_.size()) {}

  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  const model::Frame& operator[](size_t place) const { return table_[is_whole_ ? place : indices_[place]]; }
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
  std::vector<FrameIndex> indices_;
  bool is_whole_ = true;  // the table, in order
  size_t size_ = 0;
};

// Frames of a report, each once, and the stacks that consist of them.
class FrameTable {
 public:
  FrameTable() = default;
  FrameTable(std::vector<model::Frame> frames) : frames_(std::move(frames)) {}  // NOLINT(google-explicit-constructor)
  FrameTable(std::initializer_list<model::Frame> frames) : frames_(frames) {}
  FrameTable(std::vector<model::Frame> frames, FrameTrie trie) : frames_(std::move(frames)), trie_(std::move(trie)) {}

  [[nodiscard]] const std::vector<model::Frame>& all() const { return frames_; }
  [[nodiscard]] std::vector<model::Frame>& all() { return frames_; }
  [[nodiscard]] const FrameTrie& trie() const { return trie_; }
  [[nodiscard]] FrameTrie& trie() { return trie_; }

  [[nodiscard]] size_t size() const { return frames_.size(); }
  [[nodiscard]] bool empty() const { return frames_.empty(); }
  const model::Frame& operator[](size_t index) const { return frames_[index]; }
  [[nodiscard]] auto begin() const { return frames_.begin(); }
  [[nodiscard]] auto end() const { return frames_.end(); }

  [[nodiscard]] FrameIndices indices(FramePath path) const { return trie_.indices(path); }
  [[nodiscard]] std::vector<FrameIndex> copy(FramePath path) const {
    const FrameIndices found = indices(path);
    return {found.begin(), found.end()};
  }
  void push_back(model::Frame frame) { frames_.push_back(std::move(frame)); }
  // A stack of these frames, which shares nothing with others.
  FramePath add(const std::vector<FrameIndex>& indices) { return trie_.add(indices); }
  // A stack of frames of another table, which shares nothing with those here.
  FramePath add(const FrameList& stack) {
    std::vector<FrameIndex> indices;
    for (const model::Frame& frame : stack) {
      indices.push_back(static_cast<FrameIndex>(frames_.size()));
      frames_.push_back(frame);
    }
    return trie_.add(indices);
  }
  [[nodiscard]] std::vector<FrameIndex> outermost_first(FramePath path) const {
    std::vector<FrameIndex> frames = copy(path);
    std::ranges::reverse(frames);
    return frames;
  }
  [[nodiscard]] FrameList list(FramePath path) const { return {frames_, copy(path)}; }
  [[nodiscard]] FrameList list(std::vector<FrameIndex> indices) const { return {frames_, std::move(indices)}; }

 private:
  std::vector<model::Frame> frames_;
  FrameTrie trie_;
};

}  // namespace heaptap::report
