// File name completion.
#pragma once
#include <string>

#include "views/shell/words.h"

namespace heaptap::shell {

// Paths that start with `word`; directories end with a slash. Hidden ones only if the word asks for them. Unprintable names are left
// out.
Words file_names(const std::string& word);

}  // namespace heaptap::shell
