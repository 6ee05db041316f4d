// Whether a reader can go by what a trace says of the machine that it is from. Private to trace/.
#pragma once
#include "base/result.h"
#include "model/capture.h"

namespace heaptap::trace {

// The error says what is wrong, as part of a sentence. What isn't known here (another CPU, another byte order) is right.
base::Result<> check_machine(const model::Capture& capture);

}  // namespace heaptap::trace
