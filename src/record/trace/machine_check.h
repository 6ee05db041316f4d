// Machine check of a trace: whether this reader supports the machine that it is from. Private to trace/.
#pragma once
#include "common/base/result.h"
#include "common/model/capture.h"

namespace heaptap::trace {

// The error is a part of a sentence. Unknown machines (another CPU, another byte order) are accepted.
base::Result<> check_machine(const model::Capture& capture);

}  // namespace heaptap::trace
