// Where a trace is written, and the link to the newest one.
#pragma once
#include <cstdint>
#include <string>

namespace heaptap::collect {

// `pattern` with %p (pid) and %h (host name) filled in and %% for %; by default heaptap.<program>.<pid>.htap. `nth` > 0
// tells apart several traces that would get the same name (a process that executes the same program again).
std::string trace_path(const std::string& pattern, const std::string& program, uint32_t pid, unsigned nth);

std::string host_name();

// Points heaptap.latest.htap, beside the trace, to it. Failing is no matter.
void link_latest(const std::string& trace);

}  // namespace heaptap::collect
