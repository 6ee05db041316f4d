// The lines that heaptap prints when a file that it looks at doesn't come.
#pragma once
#include <string>

#include "base/served_files.h"

namespace heaptap::app {

std::string text_of(const base::SilentFile& file, base::ServedFiles::Stage stage);
}  // namespace heaptap::app
