// Asks a recording for what is shown. The only place of this room that does, besides what steers.
#pragma once
#include <cstdint>
#include <vector>

#include "analysis/analyze.h"
#include "base/result.h"
#include "live/recording.h"
#include "top/sample.h"

namespace heaptap::top {

struct SampleRequest {
  uint32_t pid = 0;                  // 0: the first process
  uint32_t image = 0;                // of its programs; 0: the last one
  std::vector<uint64_t> names = {};  // of these stacks,
  size_t first_names = 0;            // and, where these are none, of so many of the largest
  bool threads = false;
};
// `names_from`: its symbols.
base::Result<Sample> take_sample(live::Recording& recording, const SampleRequest& request,
                                 const analysis::Query& names_from);

// Names alone.
base::Result<std::vector<NamedStack>> take_names(live::Recording& recording, const SampleRequest& request,
                                                 const analysis::Query& names_from);

// The newest scan.
base::Result<LeakSample> take_leaks(live::Recording& recording, live::ProgramId program);

base::Result<StackPage> take_stack(live::Recording& recording, live::ProgramId program, uint64_t id,
                                   const analysis::Query& names_from, size_t width);

// The process behind the one with this pid, of those that were recorded together; 0: there is no other.
base::Result<uint32_t> next_process(live::Recording& recording, uint32_t pid);
// The program that the process executed behind this one, and behind the last one the first; 0: there is no other.
base::Result<uint32_t> next_image(live::Recording& recording, live::ProgramId program);

}  // namespace heaptap::top
