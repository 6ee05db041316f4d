// `serve` and `connect`: recordings ordered by hosts, one after the other.
#pragma once
#include "apps/target/command_line.h"
#include "common/base/result.h"

namespace heaptap::target {

base::Result<> serve(const Options& options);

}  // namespace heaptap::target
