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

// Whether scans need the released blocks: if an earlier block may be anywhere, and no release was missed.
bool needs_released(const ingest::TraceBuilder& maker, bool saw_all_releases, bool knows_earlier);

// Live blocks of a trace maker with these pending events. Pool blocks only of sites for which is_memory(site).
stream::LiveBlocks live_blocks_of(ingest::EventCoder& coder, std::span<const wire::RawEvent> waiting,
                                  const std::function<bool(model::SiteId)>& is_memory, bool with_released = false);

// Released blocks for a scan on another machine, as many as there are live ones or kLeastReleased. None with a live
// block inside: their memory is in use again.
inline constexpr size_t kLeastReleased = 20'000;
std::vector<base::AddressRange> released_to_tell(const stream::LiveBlocks& blocks);

}  // namespace heaptap::recordings
