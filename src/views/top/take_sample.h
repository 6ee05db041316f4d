// Queries of a recording for display. All queries of top/ are here, except control actions.
#pragma once
#include <cstdint>
#include <vector>

#include "analysis/query/analyze.h"
#include "common/base/result.h"
#include "views/client/recording.h"
#include "views/top/sample.h"

namespace heaptap::top {

struct SampleRequest {
  uint32_t pid = 0;                  // 0: the first process
  uint32_t image = 0;                // number of its program; 0: the last one
  std::vector<uint64_t> names = {};  // stacks to name,
  size_t first_names = 0;            // and if empty, number of the largest to name
  bool threads = false;
};
// `names_from`: provides the symbol options.
base::Result<Sample> take_sample(client::Recording& recording, const SampleRequest& request,
                                 const query::Query& names_from);

// Names only.
base::Result<std::vector<NamedStack>> take_names(client::Recording& recording, const SampleRequest& request,
                                                 const query::Query& names_from);

// Leaks of the newest scan.
base::Result<LeakSample> take_leaks(client::Recording& recording, client::ProgramId program);

base::Result<StackPage> take_stack(client::Recording& recording, client::ProgramId program, uint64_t id,
                                   const query::Query& names_from, size_t width);

// Next process after this PID, of those recorded together; 0: there is no other.
base::Result<uint32_t> next_process(client::Recording& recording, uint32_t pid);
// Next program of the process after this one, cyclically; 0: there is no other.
base::Result<uint32_t> next_image(client::Recording& recording, client::ProgramId program);

}  // namespace heaptap::top
