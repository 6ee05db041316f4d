// An option of a command, as completions and help's readers know it.
#pragma once
#include <string>
#include <vector>

#include "app/option_group.h"

namespace heaptap::app {

struct KnownOption {
  std::vector<std::string> names;       // "-o", "--output"; none: it is what stands without a name
  std::string value = {};               // what is called so in the help ("FILE"); empty: it takes none
  bool value_may_miss = false;          // the value only stands behind a "="
  std::vector<std::string> words = {};  // that are values
  std::string help = {};
  OptionGroup group = OptionGroup::kOther;
};

}  // namespace heaptap::app
