// Machinery defined by the user.
#pragma once
#include <string>
#include <vector>

#include "analysis/patterns/name_filter.h"
#include "common/model/frame.h"

namespace heaptap::report {

// Functions that allocate for others, by the user (--skip): parts of names, or regular expressions.
class SkippedNames {
 public:
  SkippedNames() = default;
  explicit SkippedNames(const std::vector<std::string>& patterns) : filters_(patterns.begin(), patterns.end()) {}

  [[nodiscard]] bool match(const model::Frame& frame) const;

 private:
  std::vector<patterns::NameFilter> filters_;
};

}  // namespace heaptap::report
