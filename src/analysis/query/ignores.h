// Ignore rules of the user: a stack with a matching frame is hidden from all lists. Suppressions, in contrast, hide leaks only.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/patterns/name_filter.h"
#include "common/base/result.h"
#include "common/model/frame.h"

namespace heaptap::query {

class Ignores {
 public:
  struct Rule {
    patterns::NameFilter filter;
    std::string place;  // source of the rule: "heaptap.conf:3", "--ignore"
  };

  // `text`: a regular expression, or a part of a name. An invalid expression is a usage error, and so are more rules than can be matched
  // against each frame in bounded time.
  base::Result<> add(const std::string& text, std::string place);

  [[nodiscard]] bool empty() const { return rules_.empty(); }
  // Same rules in the same order.
  bool operator==(const Ignores& other) const { return texts_ == other.texts_; }
  [[nodiscard]] const std::vector<Rule>& rules() const { return rules_; }

  // First rule that matches the frame's function, its "FILE:LINE FUNCTION" (with or without the file's directory), or its module's path;
  // kNone: none.
  static constexpr uint32_t kNone = ~uint32_t{0};
  [[nodiscard]] uint32_t find(const model::Frame& frame) const;

 private:
  std::vector<Rule> rules_;
  std::vector<std::string> texts_;  // with sources
  size_t size_ = 0;                 // of all expressions
};

}  // namespace heaptap::query
