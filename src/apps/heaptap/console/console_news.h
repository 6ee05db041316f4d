// Messages about spontaneous events of a recording. Safe for a terminal.
#pragma once
#include <string>

#include "views/client/recording.h"

namespace heaptap::app {

// "process 12 exited with 0"
std::string news_text(const client::News& news);

// "running", "exited with 0", "killed by SIGSEGV", "went on as another program", "ended".
std::string state_text(const client::Process& process);

}  // namespace heaptap::app
