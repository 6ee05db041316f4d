// memlog: text reports of what is not freed, one after the other in numbered files, each with the changes since the one before.
//
//     17222 (+1222)                 outstanding bytes, and the change
//     +1200                         then a stack each, the largest change first: the change,
//     <tab>make(int) (/opt/app)     and its frames, innermost first, with their objects
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "exports/formats.h"
#include "report/render.h"
#include "report/report.h"

namespace heaptap::exports {

// "app-4711-": behind it stand a file's number and ".memlog".
std::string memlog_name(const report::Report& report);

// The first file is what changed since those that are there, whose changes sum up to what was outstanding then. Memory: the
// stacks, and of moments the live blocks.
base::Result<> write_memlog_series(const Input& input, std::span<const uint64_t> moments_ns, NumberedOutput& output);
// The report as the first file.
base::Result<> write_memlog(const report::Report& report, const report::Write& write);

}  // namespace heaptap::exports
