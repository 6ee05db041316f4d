// Help text of a command: summary, usage, and options in groups, the most used ones first.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "apps/heaptap/options/known_option.h"

namespace heaptap::app {

struct CommandHelp {
  std::string summary;
  std::string usage;
  std::vector<KnownOption> options;         // and positional arguments
  std::vector<std::string> most_used = {};  // names of options, which are in their groups as well
  std::string footer = {};                  // whole lines
};

// In lines of at most `width` characters, if words fit.
std::string help_text(const CommandHelp& help, size_t width);

}  // namespace heaptap::app
