// What a recording knows of its program's memory, for a leak scan.
#pragma once
#include "collect/process_scan.h"
#include "collect/trace_maker.h"

namespace heaptap::collect {

// Of a site that a pool's block has: it isn't a resource.
bool is_pool_memory(const TraceMaker& maker, model::SiteId site);

// As of what `maker` has taken. `knows_earlier`: also of what was allocated before the recording began.
Recorded recorded_by(const TraceMaker& maker, bool saw_all_releases, bool knows_earlier = true);

}  // namespace heaptap::collect
