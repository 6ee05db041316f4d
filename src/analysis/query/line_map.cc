#include "analysis/query/line_map.h"

#include <algorithm>
#include <compare>

namespace heaptap::query {
namespace {

using Partners = std::vector<std::optional<size_t>>;

// In generated functions with thousands of calls only equal lines are paired: the search is quadratic.
constexpr size_t kMaxSearched = 256;

uint64_t distance(int64_t one, int64_t other) {
  return one > other ? static_cast<uint64_t>(one - other) : static_cast<uint64_t>(other - one);
}

int64_t shift_of(const CallPlace& from, const CallPlace& to) { return static_cast<int64_t>(to.line - from.line); }

bool same_figures(const CallPlace& one, const CallPlace& other) {
  return one.allocations == other.allocations && one.allocated_bytes == other.allocated_bytes;
}

Partners equal_lines(const std::vector<CallPlace>& before, const std::vector<CallPlace>& after) {
  Partners partners(before.size());
  for (size_t i = 0; i < before.size(); ++i) {
    const auto found = std::ranges::lower_bound(after, before[i].line, {}, &CallPlace::line);
    if (found != after.end() && found->line == before[i].line) partners[i] = static_cast<size_t>(found - after.begin());
  }
  return partners;
}

struct Cost {
  uint64_t unequal = 0;    // pairs with other figures
  uint64_t variation = 0;  // of the shifts of neighbours
  uint64_t shift = 0;      // of the first pair
  auto operator<=>(const Cost&) const = default;
};

// Each of `few` has a partner in `many`: cost[j] is the least cost of the first i if the partner of the i-th one is j.
std::vector<size_t> align(const std::vector<CallPlace>& few, const std::vector<CallPlace>& many) {
  const size_t slack = many.size() - few.size();
  std::vector<std::vector<size_t>> chosen(few.size(), std::vector<size_t>(many.size()));
  std::vector<Cost> costs(many.size());
  for (size_t i = 0; i < few.size(); ++i) {
    std::vector<Cost> next(many.size());
    for (size_t j = i; j <= i + slack; ++j) {
      const int64_t shift = shift_of(few[i], many[j]);
      Cost best{.unequal = ~uint64_t{0}};
      if (i == 0) best = {0, 0, distance(shift, 0)};
      for (size_t k = i == 0 ? j : i - 1; k < j; ++k) {
        Cost cost = costs[k];
        cost.variation += distance(shift, shift_of(few[i - 1], many[k]));
        if (cost < best) {
          best = cost;
          chosen[i][j] = k;
        }
      }
      best.unequal += same_figures(few[i], many[j]) ? 0 : 1;
      next[j] = best;
    }
    costs = std::move(next);
  }
  const size_t first = few.size() - 1;
  size_t last = first;
  for (size_t j = first; j <= first + slack; ++j) {
    if (costs[j] < costs[last]) last = j;
  }
  std::vector<size_t> partners(few.size());
  for (size_t i = few.size(); i-- > 0;) {
    partners[i] = last;
    last = chosen[i][last];
  }
  return partners;
}

}  // namespace

Partners map_lines(const std::vector<CallPlace>& before, const std::vector<CallPlace>& after) {
  const bool same_lines = std::ranges::equal(before, after, {}, &CallPlace::line, &CallPlace::line);
  if (same_lines || std::max(before.size(), after.size()) > kMaxSearched) return equal_lines(before, after);
  Partners partners(before.size());
  if (before.empty() || after.empty()) return partners;
  const bool more_before = before.size() > after.size();
  const std::vector<size_t> found = more_before ? align(after, before) : align(before, after);
  for (size_t i = 0; i < found.size(); ++i) {
    partners[more_before ? found[i] : i] = more_before ? i : found[i];
  }
  return partners;
}

}  // namespace heaptap::query
