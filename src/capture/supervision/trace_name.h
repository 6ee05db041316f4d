// Trace file names, and the link to the newest trace.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace heaptap::supervision {

// Expands %p (PID) and %h (host name) in `pattern`, and %% to %; default heaptap.<program>.<pid>.htap. `nth` > 0
// distinguishes traces that would have the same name (a process that executes the same program again).
std::string trace_path(const std::string& pattern, const std::string& program, uint32_t pid, unsigned nth);

// Name of the index for a recording whose main program has this trace: heaptap.<program>.<pid>.run. Not *.htap, so that
// a list of the traces contains each process once.
std::string run_path(const std::string& main_trace);

std::string host_name();

// Link to the newest trace.
inline constexpr std::string_view kLatestTrace = "heaptap.latest.htap";

// Points heaptap.latest.htap, beside the trace or index, to it. Failures are ignored.
void link_latest(const std::string& file);

}  // namespace heaptap::supervision
