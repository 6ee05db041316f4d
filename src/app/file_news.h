// The lines that heaptap prints when a file that it looks at doesn't come.
#pragma once
#include <string>

#include "base/served_files.h"
#include "collect/own_waits.h"

namespace heaptap::app {

std::string text_of(const base::SilentFile& file, base::ServedFiles::Stage stage);
std::string text_of(const collect::StandingThread& thread);

// Prints them of threads of this process, as long as it lives. Begun when nothing more is forked that goes on as heaptap.
collect::OwnWaits watch_own_waits();

}  // namespace heaptap::app
