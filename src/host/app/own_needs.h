// What heaptap itself needs to record, asked for before anything is started.
#pragma once
#include "host/base/result.h"

namespace heaptap::app {

base::Result<> check_own_needs();

}  // namespace heaptap::app
