// Name filter by substring or regular expression.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "analysis/patterns/pattern.h"

namespace heaptap::patterns {

class NameFilter {
 public:
  // An empty pattern matches everything. An invalid regular expression is a plain text.
  explicit NameFilter(std::string pattern) : pattern_(std::move(pattern)) {
    if (is_plain(pattern_)) return;
    if (auto expression = Pattern::create(pattern_)) expression_ = *std::move(expression);
  }

  [[nodiscard]] bool empty() const { return pattern_.empty(); }
  [[nodiscard]] const std::string& text() const { return pattern_; }

  [[nodiscard]] bool matches(std::string_view name) const {
    if (name.find(pattern_) != std::string_view::npos) return true;
    return expression_ && name.size() <= kLongestName && expression_->matches(name);
  }

 private:
  static constexpr size_t kLongestName = 4096;

  static bool is_plain(std::string_view pattern) {
    return pattern.find_first_of(R"(\^$.[]|()*+?{})") == std::string_view::npos;
  }

  std::string pattern_;
  std::optional<Pattern> expression_;
};

}  // namespace heaptap::patterns
