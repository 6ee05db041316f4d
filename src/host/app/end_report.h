// What is printed when a recording is over.
#pragma once
#include <string>
#include <vector>

#include "host/analysis/analyze.h"
#include "host/app/recorded_processes.h"
#include "host/app/run_command.h"

namespace heaptap::app {

// `lead` is said first, where anything is said; it may be empty. `named`: how many of the traces, which come first, are of
// what the user asked for by name. True: these have what --error-exitcode is for.
bool report_end(const RunOptions& options, const analysis::Suppressions& suppressions,
                const std::vector<FinishedTrace>& traces, const std::string& lead, size_t named);

}  // namespace heaptap::app
