// Watches over the writes of processes that are about to be attached to, so that their leak scans can copy memory while
// they run (capture/scan/memory_copy.h).
#pragma once
#include <sys/types.h>

#include <map>
#include <span>

#include "capture/process/write_watch.h"
#include "common/base/result.h"

namespace heaptap::recordings {

// By process; or why there is none. Absent: its memory is so small that a scan stops it for some milliseconds only.
using WriteWatches = std::map<pid_t, base::Result<process::WriteWatch>>;

// To be called before anything else traces them: each is stopped for a moment.
WriteWatches watch_writes_of(std::span<const pid_t> processes);

}  // namespace heaptap::recordings
