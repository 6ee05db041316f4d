// From what `heaptap top` was given to a recording: one of the past, one that goes on, or one that is begun for it.
#pragma once
#include <memory>
#include <string>

#include "app/top_command.h"
#include "base/result.h"
#include "live/recording.h"

namespace heaptap::app {

// A file that is one.
bool is_socket(const std::string& word);

// The one recording of this user; `host`: of processes there, empty: of any.
base::Result<std::unique_ptr<live::Recording>> connect_to_running(const std::string& host);

}  // namespace heaptap::app
