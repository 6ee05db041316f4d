// `serve` and `connect`: recordings ordered by hosts, one after the other.
#pragma once
#include "base/result.h"
#include "heaptap_target/command_line.h"

namespace heaptap::target {

base::Result<> serve(const Options& options);

}  // namespace heaptap::target
