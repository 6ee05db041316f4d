// Frames that are the same for many sites: allocation machinery above them, and what starts programs and threads below.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/name_filter.h"
#include "model/frame.h"

namespace heaptap::report {

// Names of functions that allocate for others; * stands for any characters. Compared with a qualified name without template
// arguments (and without what a compiler appended: "foo.part.0").
std::span<const std::string_view> machinery_names();

// Whether a function's name, as a demangler has it, is one of these.
bool is_machinery_name(std::string_view function);

// A frame of allocation machinery: by its name, or, where it has none, by its module.
bool is_machinery(const model::Frame& frame);

// A frame below main() or below a thread's function, if those that it calls are so, too.
bool is_startup(const model::Frame& frame);

// What a user calls machinery besides (--skip): parts of names, or regular expressions.
class SkippedNames {
 public:
  SkippedNames() = default;
  explicit SkippedNames(const std::vector<std::string>& patterns) : filters_(patterns.begin(), patterns.end()) {}

  [[nodiscard]] bool match(const model::Frame& frame) const;

 private:
  std::vector<base::NameFilter> filters_;
};

}  // namespace heaptap::report
