// From what `heaptap top` was given to a recording: one of the past, one that goes on, or one that is begun for it.
#pragma once
#include <memory>
#include <string>

#include "app/top_command.h"
#include "base/result.h"
#include "live/recording.h"

namespace heaptap::app {

// Of a file's name, or of an abstract socket's ("@heaptap…").
bool is_socket(const std::string& word);

// `socket`: of a recording; empty: the one recording of this user.
base::Result<std::unique_ptr<live::Recording>> connect_to_running(const std::string& socket);

}  // namespace heaptap::app
