#include "common/base/nearest_word.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace heaptap::base {

size_t edit_distance(std::string_view a, std::string_view b) {
  // Rows of the table of distances between prefixes of both: for i - 2, i - 1 and i characters of `a`.
  std::vector<size_t> before(b.size() + 1);
  std::vector<size_t> above(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(above, row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      row[j] = std::min({row[j - 1] + 1, above[j] + 1, above[j - 1] + change});
      const bool is_swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string nearest_word(std::string_view word, std::span<const std::string> words) {
  constexpr size_t kShort = 3;
  const std::string* nearest = nullptr;
  size_t least = word.size() <= kShort ? 2 : 3;
  for (const std::string& other : words) {
    if (const size_t distance = edit_distance(word, other); distance < least) {
      least = distance;
      nearest = &other;
    }
  }
  return nearest == nullptr ? "" : *nearest;
}

std::string suggestion(std::string_view word, std::span<const std::string> words) {
  const std::string nearest = nearest_word(word, words);
  return nearest.empty() ? "" : " (did you mean " + nearest + "?)";
}

}  // namespace heaptap::base
