// Frames that many sites share: allocation machinery above them, startup code of programs and threads below.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/patterns/name_filter.h"
#include "common/model/frame.h"

namespace heaptap::report {

// Names of functions that allocate for others; * matches any characters. Compared with a qualified name without template arguments
// (and without compiler suffixes: "foo.part.0").
std::span<const std::string_view> machinery_names();

// Whether a demangled function name is one of these.
bool is_machinery_name(std::string_view function);

// Whether a frame is allocation machinery: by its name, or by its module if it has none.
bool is_machinery(const model::Frame& frame);

// Whether a frame is below main() or a thread's function, provided that all frames further out are too.
bool is_startup(const model::Frame& frame);

// Machinery defined by the user (--skip): parts of names, or regular expressions.
class SkippedNames {
 public:
  SkippedNames() = default;
  explicit SkippedNames(const std::vector<std::string>& patterns) : filters_(patterns.begin(), patterns.end()) {}

  [[nodiscard]] bool match(const model::Frame& frame) const;

 private:
  std::vector<patterns::NameFilter> filters_;
};

}  // namespace heaptap::report
