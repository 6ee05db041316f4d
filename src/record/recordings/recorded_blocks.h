// Live blocks of a recording, for a leak scan.
#pragma once
#include <functional>
#include <span>

#include "capture/stream/live_heap.h"
#include "capture/supervision/process_scan.h"
#include "record/ingest/trace_builder.h"

namespace heaptap::recordings {

// Whether the site of a pool's block belongs to memory, not to a resource.
bool is_pool_memory(const ingest::TraceBuilder& maker, model::SiteId site);

// State after the events taken by `maker`. `knows_earlier`: includes allocations before the recording began.
supervision::Recorded recorded_by(const ingest::TraceBuilder& maker, bool saw_all_releases, bool knows_earlier = true);

// Live blocks of a trace maker with these pending events. Pool blocks only of sites for which is_memory(site).
stream::LiveBlocks live_blocks_of(ingest::EventCoder& coder, std::span<const wire::RawEvent> waiting,
                                  const std::function<bool(model::SiteId)>& is_memory);

}  // namespace heaptap::recordings
