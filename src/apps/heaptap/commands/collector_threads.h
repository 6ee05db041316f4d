// Number of threads that a recording's collector may use.
#pragma once
#include <functional>
#include <string>

namespace heaptap::app {

// What the user asked for; 0: half of the processors that heaptap may use, from 1 to 4. The program is on the others.
unsigned collector_threads(unsigned asked);

// Processors that the calling process may use: by its affinity mask, and by the limits (cpu.max, cpu.cfs_quota_us) of
// its control groups, rounded down. At least 1. `read`: content of a file, empty where there is none.
unsigned usable_processors(unsigned affine, const std::function<std::string(const std::string& path)>& read);

}  // namespace heaptap::app
