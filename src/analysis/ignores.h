// Which call stacks the user doesn't want to see: those with a frame that a rule matches. Unlike a suppression, which is about
// leaks alone, a rule hides all that a stack did.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/name_filter.h"
#include "base/result.h"
#include "model/frame.h"

namespace heaptap::analysis {

class Ignores {
 public:
  struct Rule {
    base::NameFilter filter;
    std::string place;  // where it was given: "heaptap.conf:3", "--ignore"
  };

  // `text`: a regular expression, or a part of a name. What isn't one is wrong usage, and so are more than can be asked of each
  // frame in a bounded time.
  base::Result<> add(const std::string& text, std::string place);

  [[nodiscard]] bool empty() const { return rules_.empty(); }
  // The same rules in the same order.
  bool operator==(const Ignores& other) const { return texts_ == other.texts_; }
  [[nodiscard]] const std::vector<Rule>& rules() const { return rules_; }

  // The first rule that matches the frame's function, its "FILE:LINE FUNCTION" (with or without the file's directory), or the
  // path of its module; kNone: none.
  static constexpr uint32_t kNone = ~uint32_t{0};
  [[nodiscard]] uint32_t find(const model::Frame& frame) const;

 private:
  std::vector<Rule> rules_;
  std::vector<std::string> texts_;  // with their places
  size_t size_ = 0;                 // of all of their expressions
};

}  // namespace heaptap::analysis
