// Matches names the way people write them: as a part of the name, or as a regular expression.
#pragma once
#include <optional>
#include <regex>
#include <string>

namespace heaptap::base {

class NameFilter {
 public:
  // An empty pattern matches everything. What isn't a regular expression is a plain text.
  explicit NameFilter(std::string pattern) : pattern_(std::move(pattern)) {
    try {
      expression_.emplace(pattern_, std::regex::ECMAScript | std::regex::optimize);
    } catch (const std::regex_error&) {
      expression_.reset();
    }
  }

  [[nodiscard]] bool empty() const { return pattern_.empty(); }

  [[nodiscard]] bool matches(const std::string& name) const {
    if (name.find(pattern_) != std::string::npos) {
      return true;
    }
    try {
      return expression_ && name.size() <= kLongestName && std::regex_search(name, *expression_);
    } catch (const std::regex_error&) {  // too complex for this name
      return false;
    }
  }

 private:
  static constexpr size_t kLongestName = 4096;  // the standard library's matcher recurses with the length

  std::string pattern_;
  std::optional<std::regex> expression_;
};

}  // namespace heaptap::base
