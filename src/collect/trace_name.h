// Where a trace is written, and the link to the newest one.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace heaptap::collect {

// `pattern` with %p (pid) and %h (host name) filled in and %% for %; by default heaptap.<program>.<pid>.htap. `nth` > 0
// tells apart several traces that would get the same name (a process that executes the same program again).
std::string trace_path(const std::string& pattern, const std::string& program, uint32_t pid, unsigned nth);

// Of the index of a recording whose main program has this trace: heaptap.<program>.<pid>.run. No *.htap: who lists the traces
// has each process once.
std::string run_path(const std::string& main_trace);

std::string host_name();

// The link to the newest trace.
inline constexpr std::string_view kLatestTrace = "heaptap.latest.htap";

// Points heaptap.latest.htap, beside the trace or index, to it. Failing is no matter.
void link_latest(const std::string& file);

}  // namespace heaptap::collect
