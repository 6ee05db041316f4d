// The help of a command, as it is printed: what it does, how it is called, and its options in groups, the most used ones first.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "app/known_option.h"

namespace heaptap::app {

struct CommandHelp {
  std::string summary;
  std::string usage;
  std::vector<KnownOption> options;         // and what stands without a name
  std::vector<std::string> most_used = {};  // names of options, which stand in their groups as well
  std::string footer = {};                  // whole lines
};

// In lines of at most `width` characters, as far as words allow.
std::string help_text(const CommandHelp& help, size_t width);

}  // namespace heaptap::app
