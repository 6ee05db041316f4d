// Frames of a stack by machine code: what a function has inlined stands at one place of it.
#pragma once
#include <cstddef>
#include <vector>

#include "analysis/report/frame_list.h"

namespace heaptap::exports {

// Calls visit(run) for each place, from the innermost one outwards; a run's last frame is the function that isn't inlined, where the
// stack has it.
template <typename Visit>
void for_each_run(const report::FrameTable& frames, report::FramePath path, const Visit& visit) {
  std::vector<report::FrameIndex> run;
  size_t left = path.size;
  for (const report::FrameIndex frame : frames.indices(path)) {
    run.push_back(frame);
    --left;
    if (frames[frame].inlined && left != 0) continue;
    visit(run);
    run.clear();
  }
}

}  // namespace heaptap::exports
