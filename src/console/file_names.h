// Names of files, for completion.
#pragma once
#include <string>

#include "console/words.h"

namespace heaptap::console {

// What begins with `word`, a path as far as it is typed; directories end with a slash. Hidden ones only where the word asks for
// them. Names that can't be shown are left out.
Words file_names(const std::string& word);

}  // namespace heaptap::console
