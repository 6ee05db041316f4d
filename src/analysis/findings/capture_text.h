// Words for the way in which a program was recorded; safe for a terminal.
#pragma once
#include <cstdint>
#include <string>

#include "analysis/report/report.h"

namespace heaptap::findings {

// "3.2 s"; of another tool's file in its own unit of time.
std::string moment_text(const model::Capture& capture, uint64_t time_ns);
// Whether moment_text() of its peak is meaningful.
bool is_peak_placed(const report::Report& report);
// " (pid 12)"; empty if unknown.
std::string process_of(const model::Capture& capture);
// "app" for a program started as /usr/bin/app.
std::string program_of(const model::Capture& capture);
// "cc1plus (pid 12)": of several processes the one with the largest peak; empty: of one process, or unknown.
std::string peak_process_text(const report::Report& report);
// Whether contact to the program's machine was lost, so that its further course is unknown.
bool lost_sight_of(const model::Capture& capture);
std::string exit_text(const model::Capture& capture);
// Data missing because the recording started late; empty: none.
std::string late_start_of(const report::Report& report);
// Uncertain verdicts and the reasons; empty: none.
std::string uncertainty_of(const report::Report& report);
// That nothing was seen which a verdict could be about.
const char* nothing_seen_text(const report::Report& report);

// What the verdict "no leaks" is limited to: " found", " in what was recorded"; empty: to nothing.
const char* limit_of_no_leaks(const report::Report& report);

// Why a truncated trace is incomplete.
std::string incomplete_text(const model::Capture& capture);

}  // namespace heaptap::findings
