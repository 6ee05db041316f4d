// Recording for `heaptap top`, from its arguments: a finished one, a live one, or a new one.
#pragma once
#include <memory>
#include <string>

#include "apps/heaptap/commands/top_command.h"
#include "common/base/result.h"
#include "views/client/recording.h"

namespace heaptap::app {

// Whether a path is a socket.
bool is_socket(const std::string& word);

// The only live recording of this user; `host`: of its processes; empty: any.
base::Result<std::unique_ptr<client::Recording>> connect_to_running(const std::string& host);

}  // namespace heaptap::app
