// Figures limited by `heaptap check`, and their certainty.
#pragma once
#include <cstdint>
#include <string>

#include "analysis/report/report.h"

namespace heaptap::report {

enum class LimitKind : uint8_t { kLeaked, kPeak, kLive, kAllocations };
const char* name_of(LimitKind kind);

// "48 B" or "1.5 KiB (1,536 bytes)".
std::string figure_text(LimitKind kind, uint64_t figure);

enum class Certainty : uint8_t {
  kExact,
  kAtLeast,  // some may be missing
  kUnknown,  // may be too large or too small
  kNone,     // no figure
};
const char* name_of(Certainty certainty);

// Unrecorded allocations make a figure a lower bound; unrecorded releases make it too large. `is_early_scan`: the leaks are those
// of a moment before the end.
Certainty certainty_of(const Report& report, LimitKind kind, bool is_early_scan);

// Whether the last scan was made while the program ran, so that later leaks are missing from it.
bool has_early_scan(const Report& report);

}  // namespace heaptap::report
