// Regular expressions whose search takes time in proportion to the text, and memory to the expression, whatever they are: they
// come from files that others may have written, and std::regex recurses, and tries all ways.
//
//   abc  .  [a-z]  [^0-9]  [[:alpha:]]  \d \w \s \D \W \S  ^ $  \b \B  (…)  (?:…)  |  * + ? {2} {2,} {2,5}
//
// A character is a byte. The lazy forms *? +? ?? are the same as without, since it is only asked whether something matches.
// References to what was matched before and looks ahead or back are refused.
#pragma once
#include <bitset>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace heaptap::base {

class Pattern {
 public:
  static Result<Pattern> create(std::string_view text);

  // Whether it matches anywhere in the text.
  [[nodiscard]] bool matches(std::string_view text) const;

  // How much a search may do for each character.
  [[nodiscard]] size_t size() const { return program_.size(); }

  static constexpr size_t kMaxBytes = 1000;         // of an expression
  static constexpr size_t kMaxInstructions = 2000;  // that it becomes

  using Bytes = std::bitset<256>;
  enum class Operation : uint8_t { kBytes, kSplit, kJump, kBegin, kEnd, kWordEdge, kNoWordEdge, kMatch };
  // Places are relative, so that parts can be moved and repeated.
  struct Instruction {
    Operation operation;
    int32_t first = 0;  // of kSplit and kJump the next place; of kBytes which set
    int32_t second = 0;
  };
  using Program = std::vector<Instruction>;

 private:
  struct Places;
  void follow(size_t place, std::string_view text, size_t at, Places& places) const;

  Program program_;
  std::vector<Bytes> sets_;
};

}  // namespace heaptap::base
