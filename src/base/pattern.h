// Regular expressions in RE2's syntax, whose search takes time in proportion to the text, and memory within a limit, whatever they are:
// they come from files that others may have written.
#pragma once
#include <cstddef>
#include <memory>
#include <string_view>

#include "base/result.h"

namespace re2 {
class RE2;
}

namespace heaptap::base {

class Pattern {
 public:
  // Text that isn't UTF-8 is taken byte by byte.
  static Result<Pattern> create(std::string_view text);

  // Whether it matches anywhere in the text.
  [[nodiscard]] bool matches(std::string_view text) const;

  // Instructions, each of which a search may follow at each character.
  [[nodiscard]] size_t size() const;

  static constexpr size_t kMaxBytes = 1000;  // of an expression

 private:
  explicit Pattern(std::shared_ptr<const re2::RE2> expression) : expression_(std::move(expression)) {}

  std::shared_ptr<const re2::RE2> expression_;  // copies of a pattern share it
};

}  // namespace heaptap::base
