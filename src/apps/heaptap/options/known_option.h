// Description of a command's option, for completions and help.
#pragma once
#include <string>
#include <vector>

#include "apps/heaptap/options/option_group.h"

namespace heaptap::app {

struct KnownOption {
  std::vector<std::string> names;       // "-o", "--output"; empty: a positional argument
  std::string value = {};               // its name in the help ("FILE"); empty: it takes none
  bool value_may_miss = false;          // the value is optional, after a "="
  std::vector<std::string> words = {};  // possible values
  std::string help = {};
  OptionGroup group = OptionGroup::kOther;
};

}  // namespace heaptap::app
