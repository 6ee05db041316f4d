// Numbers with their nouns.
#pragma once
#include <cstdint>
#include <string>

#include "analysis/report/leak_counts.h"

namespace heaptap::findings {

// "1 block", "2 blocks".
std::string counted(uint64_t count, const char* noun);
// ", give or take 4,096"; empty for 0: the figure before it is exact.
std::string error_text(uint64_t error);
// The same for a figure in units: ", give or take 4.0 KiB".
std::string bytes_error_text(uint64_t error);
// With sign: "+1.2 MiB", "-3 blocks".
std::string signed_bytes(int64_t bytes);
std::string signed_count(int64_t count, const char* noun);
// "48 B in 2 blocks"
std::string amount(const report::BlockCount& count);

}  // namespace heaptap::findings
