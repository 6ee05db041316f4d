// Console commands `status`, `monitor`, `report`, `mark` and `clear`, for recordings made by heaptap-target on this machine for this user.
#pragma once
#include "apps/target/command_line.h"
#include "common/base/result.h"

namespace heaptap::target {

base::Result<> ask_recordings(const Options& options);

}  // namespace heaptap::target
