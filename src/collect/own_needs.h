// What heaptap itself needs to record, asked for before anything is started.
#pragma once
#include "base/result.h"

namespace heaptap::collect {

base::Result<> check_own_needs();

// Whether programs can be recorded on this CPU at all. Traces can be read on every one.
base::Result<> check_own_cpu();

}  // namespace heaptap::collect
