// Sampled figures in words: how exact they are.
#pragma once
#include <cstdint>
#include <string>

#include "analysis/report/report.h"

namespace heaptap::findings {

// "40.1 MiB to 58.3 MiB"; empty for an exact figure (`interval` 0).
std::string bounds_text(uint64_t estimated_bytes, uint64_t interval);

// The same of what a stack held at the process's peak, which is a maximum over time.
std::string peak_bounds_text(uint64_t estimated_bytes, const report::Totals& totals);

// Suffix after the bytes of such a text: " (40.1 MiB to 58.3 MiB)"; empty without one.
std::string bounds_behind(const std::string& bounds);

// What the figures are, and their confidence; empty where all blocks were recorded.
std::string sampling_sentence(const report::Report& report);

// All calls of the recorded process, which were counted: "8,000,000 allocations of 1.0 GiB, 7,999,990 releases". Empty: unknown.
std::string counted_calls_text(const report::Report& report);

}  // namespace heaptap::findings
