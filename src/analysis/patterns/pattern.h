// Regular expressions in RE2's syntax: search takes linear time and bounded memory for any input, since patterns may
// come from files written by others.
#pragma once
#include <cstddef>
#include <memory>
#include <string_view>

#include "common/base/result.h"

namespace re2 {
class RE2;
}

namespace heaptap::patterns {

class Pattern {
 public:
  // Text that isn't UTF-8 is matched by bytes.
  static base::Result<Pattern> create(std::string_view text);

  // Whether it matches anywhere in the text.
  [[nodiscard]] bool matches(std::string_view text) const;

  // Number of instructions; a search may execute each for each character.
  [[nodiscard]] size_t size() const;

  static constexpr size_t kMaxBytes = 1000;  // length of an expression

 private:
  explicit Pattern(std::shared_ptr<const re2::RE2> expression) : expression_(std::move(expression)) {}

  std::shared_ptr<const re2::RE2> expression_;  // shared by copies of a pattern
};

}  // namespace heaptap::patterns
