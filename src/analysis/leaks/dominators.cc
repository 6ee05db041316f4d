#include "analysis/leaks/dominators.h"

#include <algorithm>

namespace heaptap::leaks {
namespace {

// Lengauer-Tarjan search. Blocks are numbered by depth-first search from 1; 0 is the super root. Names are the paper's.
class DominatorSearch {
 public:
  DominatorSearch(const model::HeapScan& scan, const LeakOptions& options)
      : scan_(scan), numbers_(scan.blocks.size(), 0), held_by_root_(scan.blocks.size(), 0) {
    vertex_.push_back(model::kNoBlock);
    parent_.push_back(0);
    number_blocks(options);
    collect_predecessors();
    find();
  }

  Dominators result() {
    Dominators made{.parents = std::vector<uint32_t>(scan_.blocks.size(), model::kNoBlock),
                    .retained_bytes = std::vector<uint64_t>(scan_.blocks.size(), 0),
                    .retained_blocks = std::vector<uint32_t>(scan_.blocks.size(), 0)};
    // Descending: dominators have smaller numbers, so a sum is complete when it is added to its dominator's.
    for (uint32_t w = last(); w > 0; --w) {
      const uint32_t block = vertex_[w];
      made.retained_bytes[block] += scan_.blocks[block].size_bytes;
      made.retained_blocks[block] += 1;
      if (idom_[w] == 0) continue;
      const uint32_t above = vertex_[idom_[w]];
      made.parents[block] = above;
      made.retained_bytes[above] += made.retained_bytes[block];
      made.retained_blocks[above] += made.retained_blocks[block];
    }
    return made;
  }

 private:
  [[nodiscard]] uint32_t last() const { return static_cast<uint32_t>(vertex_.size() - 1); }

  void number_blocks(const LeakOptions& options) {
    std::vector<uint32_t> next(scan_.pointers_begin.begin(), scan_.pointers_begin.end());
    for (const model::RootPointer& root : scan_.roots) {
      if (!options.is_root(root.root)) continue;
      held_by_root_[root.to] = 1;
      if (numbers_[root.to] == 0) search_from(root.to, next);
    }
  }

  void give_number(uint32_t block, uint32_t parent) {
    numbers_[block] = static_cast<uint32_t>(vertex_.size());
    vertex_.push_back(block);
    parent_.push_back(parent);
  }

  // `next`: by block, the first pointer not yet followed.
  void search_from(uint32_t root, std::vector<uint32_t>& next) {
    give_number(root, 0);
    for (uint32_t at = numbers_[root]; at != 0;) {
      const uint32_t block = vertex_[at];
      const uint32_t end = scan_.pointers_begin[block + 1];
      uint32_t& pointer = next[block];
      while (pointer < end && numbers_[scan_.pointers[pointer].to] != 0) ++pointer;
      if (pointer == end) {
        at = parent_[at];
      } else {
        const uint32_t to = scan_.pointers[pointer++].to;
        give_number(to, at);
        at = numbers_[to];
      }
    }
  }

  template <typename Visit>
  void for_each_edge(Visit visit) const {
    for (uint32_t w = 1; w <= last(); ++w) {
      const uint32_t block = vertex_[w];
      for (uint32_t i = scan_.pointers_begin[block]; i < scan_.pointers_begin[block + 1]; ++i) {
        visit(w, numbers_[scan_.pointers[i].to]);
      }
    }
  }

  void collect_predecessors() {
    predecessors_begin_.assign(vertex_.size() + 1, 0);
    for_each_edge([this](uint32_t, uint32_t to) { ++predecessors_begin_[to]; });
    uint32_t end = 0;
    for (uint32_t& begin : predecessors_begin_) begin = end += begin;
    predecessors_.resize(end);
    for_each_edge([this](uint32_t from, uint32_t to) { predecessors_[--predecessors_begin_[to]] = from; });
  }

  void find() {
    const size_t count = vertex_.size();
    semi_.resize(count);
    for (uint32_t i = 0; i < count; ++i) semi_[i] = i;
    label_ = semi_;
    ancestor_.assign(count, model::kNoBlock);
    idom_.assign(count, 0);
    bucket_.assign(count, 0);
    next_in_bucket_.assign(count, 0);
    for (uint32_t w = last(); w > 0; --w) {
      find_semi_dominator(w);
      next_in_bucket_[w] = bucket_[semi_[w]];
      bucket_[semi_[w]] = w;
      ancestor_[w] = parent_[w];
      empty_bucket(parent_[w]);
    }
    for (uint32_t w = 1; w < count; ++w) {
      if (idom_[w] != semi_[w]) idom_[w] = idom_[idom_[w]];
    }
  }

  void find_semi_dominator(uint32_t w) {
    uint32_t semi = held_by_root_[vertex_[w]] != 0 ? 0 : w;
    for (uint32_t i = predecessors_begin_[w]; i < predecessors_begin_[w + 1] && semi != 0; ++i) {
      semi = std::min(semi, semi_[evaluate(predecessors_[i])]);
    }
    semi_[w] = semi;
  }

  void empty_bucket(uint32_t parent) {
    for (uint32_t v = bucket_[parent]; v != 0; v = next_in_bucket_[v]) {
      const uint32_t u = evaluate(v);
      idom_[v] = semi_[u] < semi_[v] ? u : parent;
    }
    bucket_[parent] = 0;
  }

  // The block with the smallest semi-dominator on the path from v up to its tree's root, the root excluded.
  uint32_t evaluate(uint32_t v) {
    if (ancestor_[v] == model::kNoBlock) return v;
    path_.clear();
    for (uint32_t at = v; ancestor_[ancestor_[at]] != model::kNoBlock; at = ancestor_[at]) path_.push_back(at);
    for (; !path_.empty(); path_.pop_back()) {
      const uint32_t at = path_.back();
      const uint32_t above = ancestor_[at];
      if (semi_[label_[above]] < semi_[label_[at]]) label_[at] = label_[above];
      ancestor_[at] = ancestor_[above];
    }
    return label_[v];
  }

  const model::HeapScan& scan_;
  std::vector<uint32_t> numbers_;  // by block; 0: not held
  std::vector<uint8_t> held_by_root_;
  // By number.
  std::vector<uint32_t> vertex_, parent_;
  std::vector<uint32_t> predecessors_begin_, predecessors_;
  std::vector<uint32_t> semi_, label_, ancestor_, idom_;
  std::vector<uint32_t> bucket_, next_in_bucket_;  // blocks by their semi-dominator, as lists
  std::vector<uint32_t> path_;
};

}  // namespace

Dominators find_dominators(const model::HeapScan& scan, const LeakOptions& options) {
  return DominatorSearch(scan, options).result();
}

}  // namespace heaptap::leaks
