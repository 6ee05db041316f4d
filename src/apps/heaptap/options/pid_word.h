// Parsing of PIDs.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string_view>

#include "common/base/whole_number.h"

namespace heaptap::app {

// None: not a valid PID.
inline std::optional<pid_t> pid_in(std::string_view word) {
  const auto pid = base::whole_number<pid_t>(word);
  return pid && *pid > 0 ? pid : std::nullopt;
}

}  // namespace heaptap::app
