// What heaptap itself needs to record, asked for before anything is started.
#pragma once
#include "base/result.h"

namespace heaptap::collect {

base::Result<> check_own_needs();

}  // namespace heaptap::collect
