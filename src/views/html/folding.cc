#include "views/html/folding.h"

#include <algorithm>
#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <map>
#include <numeric>
#include <string_view>
#include <tuple>
#include <utility>

#include "analysis/report/path_values.h"

namespace heaptap::html {
namespace {

using report::StackEntry;

// Importance of a stack: its largest share of any figure's total. The least important ones are folded first.
class Importance {
 public:
  explicit Importance(const report::Report& report) {
    for (const StackEntry& stack : report.stacks) {
      const auto figures = figures_of(stack);
      for (size_t i = 0; i < figures.size(); ++i) sums_[i] += figures[i];
    }
  }
  [[nodiscard]] double of(const StackEntry& stack) const {
    const auto figures = figures_of(stack);
    double most = 0;
    for (size_t i = 0; i < figures.size(); ++i) {
      if (sums_[i] != 0) most = std::max(most, static_cast<double>(figures[i]) / static_cast<double>(sums_[i]));
    }
    return most;
  }

 private:
  static std::array<uint64_t, 6> figures_of(const StackEntry& stack) {
    const uint64_t lost = stack.leaks ? stack.leaks->lost().bytes + stack.leaks->possible.bytes : 0;
    return {stack.own_live_bytes().counted(),      stack.own_peak_bytes().counted(),
            stack.own_allocated_bytes().counted(), stack.allocations.counted(),
            stack.temporary_allocations.counted(), lost};
  }
  std::array<uint64_t, 6> sums_{};
};

class Tree {
 public:
  Tree(const report::FrameTrie& trie, CallNodes& nodes)
      : nodes_(nodes), of_path_(trie, CallNodes::kNone), nearest_(trie, {.node = CallNodes::kNone}) {}

  // The node of a stack's innermost frame; missing frames are added.
  uint32_t add(const StackEntry& stack) {
    return of_path_(stack.frames, [this](uint32_t caller, report::FrameIndex frame) {
      const auto [known, is_new] =
          children_.try_emplace(key(caller, frame), static_cast<uint32_t>(nodes_.parents.size()));
      if (is_new) {
        nodes_.parents.push_back(caller);
        nodes_.frames.push_back(frame);
      }
      return known->second;
    });
  }

  // The node of the innermost frame that exists; once all are added. The same stack may have other nodes in the report.
  uint32_t find(const StackEntry& stack) {
    const auto inner = [this](Nearest caller, report::FrameIndex frame) {
      if (caller.is_beyond) return caller;
      const auto known = children_.find(key(caller.node, frame));
      return known == children_.end() ? Nearest{caller.node, true} : Nearest{known->second};
    };
    return nearest_(stack.frames, inner).node;
  }

 private:
  struct Nearest {
    uint32_t node;
    bool is_beyond = false;  // the frame itself has no node
  };

  static uint64_t key(uint32_t node, report::FrameIndex frame) { return uint64_t{node} << 32 | frame; }

  CallNodes& nodes_;
  report::PathValues<uint32_t> of_path_;
  report::PathValues<Nearest> nearest_;
  boost::unordered_flat_map<uint64_t, uint32_t> children_;
};

std::vector<double> shares_of(const report::Report& report) {
  const Importance importance(report);
  std::vector<double> shares;
  shares.reserve(report.stacks.size());
  for (const StackEntry& stack : report.stacks) shares.push_back(importance.of(stack));
  return shares;
}

std::vector<uint32_t> in_order(size_t count) {
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

std::vector<uint32_t> largest_first(const std::vector<double>& shares) {
  std::vector<std::pair<double, uint32_t>> places;
  places.reserve(shares.size());
  for (uint32_t i = 0; i < shares.size(); ++i) places.emplace_back(-shares[i], i);
  std::ranges::sort(places);
  std::vector<uint32_t> order;
  order.reserve(places.size());
  for (const auto& [share, stack] : places) order.push_back(stack);
  return order;
}

}  // namespace

Rows choose_rows(const report::Report& report, size_t limit, const Weights* weights) {
  Rows made;
  made.of_stack.resize(report.stacks.size());
  const bool folds = report.stacks.size() > limit;
  std::vector<uint32_t> order =
      folds ? largest_first(weights == nullptr ? shares_of(report) : weights->shares) : in_order(report.stacks.size());
  const size_t kept = std::min(limit, order.size());
  std::sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept));
  Tree tree(report.frames.trie(), made.nodes);
  for (size_t i = 0; i < kept; ++i) {
    made.of_stack[order[i]] = static_cast<uint32_t>(made.rows.size());
    made.rows.push_back({.stack = order[i], .node = tree.add(report.stacks[order[i]]), .folded = 0});
  }
  // Stacks of the same allocation function below the same node are one row.
  std::map<std::tuple<uint32_t, std::string_view, bool, bool, uint8_t>, uint32_t> folded;
  for (size_t i = kept; i < order.size(); ++i) {
    const StackEntry& stack = report.stacks[order[i]];
    const uint32_t node = tree.find(stack);
    const auto [known, is_new] = folded.try_emplace(
        {node, stack.function, stack.mapping, stack.pooled, weights == nullptr ? uint8_t{0} : weights->kinds[order[i]]},
        static_cast<uint32_t>(made.rows.size()));
    if (is_new) made.rows.push_back({.stack = order[i], .node = node, .folded = 0});
    made.of_stack[order[i]] = known->second;
    ++made.rows[known->second].folded;
    ++made.folded_stacks;
    made.folded_bytes += stack.is_apart() ? 0 : stack.allocated_bytes.counted();
  }
  return made;
}

}  // namespace heaptap::html
