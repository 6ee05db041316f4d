// Prerequisites of heaptap itself for recording, checked before anything is started.
#pragma once
#include "common/base/result.h"

namespace heaptap::launch {

base::Result<> check_own_needs();

// Whether this CPU supports recording. Traces can be read on every CPU.
base::Result<> check_own_cpu();

}  // namespace heaptap::launch
