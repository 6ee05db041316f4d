// `serve` and `connect`: one recording after the other, for whichever host comes.
#pragma once
#include "base/result.h"
#include "heaptap_target/command_line.h"

namespace heaptap::target {

base::Result<> serve(const Options& options);

}  // namespace heaptap::target
