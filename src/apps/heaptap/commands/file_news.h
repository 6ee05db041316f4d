// Messages about files that don't respond (network file systems).
#pragma once
#include <string>

#include "capture/supervision/own_waits.h"
#include "common/base/served_files.h"

namespace heaptap::app {

std::string text_of(const base::SilentFile& file, base::ServedFiles::Stage stage);
std::string text_of(const supervision::StandingThread& thread);

// Prints the files for which abandoned threads of this process still wait: at its end, which may have to wait for them as well.
void print_awaited_files();

// Prints messages about blocked threads of this process, as long as the result lives. To be called after the last fork that continues as
// heaptap.
supervision::OwnWaits watch_own_waits();

}  // namespace heaptap::app
