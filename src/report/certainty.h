// The figures that `heaptap check` has limits for, and how far each can be relied on.
#pragma once
#include <cstdint>
#include <string>

#include "report/report.h"

namespace heaptap::report {

enum class LimitKind : uint8_t { kLeaked, kPeak, kLive, kAllocations };
const char* name_of(LimitKind kind);

// "48 B" or "1.5 KiB (1,536 bytes)".
std::string figure_text(LimitKind kind, uint64_t figure);

enum class Certainty : uint8_t {
  kExact,
  kAtLeast,  // something may be missing in it
  kUnknown,  // it may be too large as well as too small
  kNone,     // there is no figure
};
const char* name_of(Certainty certainty);

// What wasn't recorded may make a figure larger, or smaller if it was releases. `is_early_scan`: the leaks are those of a moment
// before the end.
Certainty certainty_of(const Report& report, LimitKind kind, bool is_early_scan);

// The last scan was made while the program ran on, and what was lost later isn't in it.
bool has_early_scan(const Report& report);

}  // namespace heaptap::report
