// Whether a reader can go by what a trace says of the machine that it is from. Private to trace/.
#pragma once
#include <string>

#include "model/capture.h"

namespace heaptap::trace {

// What is wrong, as part of a sentence; empty: nothing. What isn't known here (another CPU, another byte order) is right.
std::string why_no_such_machine(const model::Capture& capture);

}  // namespace heaptap::trace
