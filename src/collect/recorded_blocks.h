// What a recording knows of its program's memory, for a leak scan.
#pragma once
#include <functional>
#include <span>

#include "collect/live_heap.h"
#include "collect/process_scan.h"
#include "collect/trace_maker.h"

namespace heaptap::collect {

// Of a site that a pool's block has: it isn't a resource.
bool is_pool_memory(const TraceMaker& maker, model::SiteId site);

// As of what `maker` has taken. `knows_earlier`: also of what was allocated before the recording began.
Recorded recorded_by(const TraceMaker& maker, bool saw_all_releases, bool knows_earlier = true);

// What is alive by a trace's maker, of which these events wait. Pools' blocks of those sites alone for which is_memory(site).
LiveBlocks live_blocks_of(EventCoder& coder, std::span<const wire::RawEvent> waiting,
                          const std::function<bool(model::SiteId)>& is_memory);

}  // namespace heaptap::collect
