// Which frame of a stack tells most.
#pragma once
#include <vector>

#include "model/frame.h"

namespace heaptap::report {

// The frame that people look for first: the innermost one of the program's own code with a line, else without one, else
// simply the innermost one. Null: there is none.
const model::Frame* telling_frame(const std::vector<model::Frame>& frames);

}  // namespace heaptap::report
