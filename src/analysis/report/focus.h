// Focus of a report: the memory that it is about, which views show first unless told otherwise.
#pragma once
#include <cstdint>
#include <string_view>

#include "analysis/report/report.h"

namespace heaptap::report {

enum class Focus : uint8_t {
  kLive,       // what is not freed
  kPeak,       // what was held at the peak: little of it is left
  kTemporary,  // allocations released at once: next to nothing is left, and the peak is small against what was allocated
};

// "live", "peak", "temporary".
std::string_view name_of(Focus focus);

// Needs the capture, the totals, the window, the leak scan, and of a run the processes. An unknown figure decides nothing: the
// default is kLive. Memory that libraries keep for themselves isn't left by the program.
Focus focus_of(const Report& report);

// The focus's figure of all stacks, and of one: live bytes, bytes held at the peak (of several processes: at the largest one's), number of
// temporary allocations. 0: unknown, too.
uint64_t whole_of(Focus focus, const Report& report);
uint64_t part_of(Focus focus, const StackEntry& stack);

}  // namespace heaptap::report
