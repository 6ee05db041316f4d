// Live blocks of a recording, for a leak scan.
#pragma once
#include <functional>
#include <span>

#include "collect/live_heap.h"
#include "collect/process_scan.h"
#include "collect/trace_maker.h"

namespace heaptap::collect {

// Whether the site of a pool's block belongs to memory, not to a resource.
bool is_pool_memory(const TraceMaker& maker, model::SiteId site);

// State after the events taken by `maker`. `knows_earlier`: includes allocations before the recording began.
Recorded recorded_by(const TraceMaker& maker, bool saw_all_releases, bool knows_earlier = true);

// Live blocks of a trace maker with these pending events. Pool blocks only of sites for which is_memory(site).
LiveBlocks live_blocks_of(EventCoder& coder, std::span<const wire::RawEvent> waiting,
                          const std::function<bool(model::SiteId)>& is_memory);

}  // namespace heaptap::collect
