// Words for the findings and doubts of a comparison.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/report/comparison.h"

namespace heaptap::findings {

// The recording's unknown figures, and doubts about the known ones, a sentence each. `leaks`: leak figures are wanted.
std::vector<std::string> missing_of(const report::Recording& recording, bool leaks);
std::vector<std::string> doubts_of(const report::Recording& recording, bool leaks);

// Doubts about any of the recordings, and unmatched modules, a sentence each.
std::vector<std::string> remarks_of(const report::Comparison& comparison);

// "1.0 KiB", "unknown"; "+1.0 KiB"; "+12.5%", "122,000 times as much", empty if the base or the change is 0.
std::string value_text(report::Figure figure, const std::optional<uint64_t>& value);
std::string change_text(report::Figure figure, const std::optional<int64_t>& change);
std::string percent_text(const std::optional<int64_t>& change, const std::optional<uint64_t>& before);
// "before", "after"; in a series "1", "2", …
std::string label_of(const report::Comparison& comparison, size_t number);
// "+71.0 KiB live (besides +2.0 MiB with mmap) in 2 stacks of system libraries: libstdc++'s emergency pool for exceptions, …";
// empty: no stacks.
std::string libraries_text(report::Figure figure, std::span<const report::ComparedStack* const> stacks);

}  // namespace heaptap::findings
