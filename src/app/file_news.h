// Messages about files that don't respond (network file systems).
#pragma once
#include <string>

#include "base/served_files.h"
#include "collect/own_waits.h"

namespace heaptap::app {

std::string text_of(const base::SilentFile& file, base::ServedFiles::Stage stage);
std::string text_of(const collect::StandingThread& thread);

// Prints messages about blocked threads of this process, as long as the result lives. To be called after the last fork that continues as
// heaptap.
collect::OwnWaits watch_own_waits();

}  // namespace heaptap::app
