// Blocks from before a recording, in a scan of a process to which heaptap attached: their allocator knows their places and sizes.
#pragma once
#include <functional>

#include "capture/process/program_memory.h"
#include "capture/process/stopped_process.h"
#include "capture/supervision/process_scan.h"

namespace heaptap::supervision {

// Adds them to the recorded blocks, which ascend before and afterwards. Does nothing where the allocator's data are not fully
// understood. site_of(bytes): the site of those of that size.
EarlierBlocks add_earlier_blocks(Recorded& recorded, const process::StoppedProcess& stopped,
                                 process::ProgramMemory& memory, const std::function<model::SiteId(uint64_t)>& site_of);

}  // namespace heaptap::supervision
