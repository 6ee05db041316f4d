// Numbers with their nouns.
#pragma once
#include <cstdint>
#include <string>

#include "analysis/report/leak_counts.h"

namespace heaptap::findings {

// "1 block", "2 blocks".
std::string counted(uint64_t count, const char* noun);
// With sign: "+1.2 MiB", "-3 blocks".
std::string signed_bytes(int64_t bytes);
std::string signed_count(int64_t count, const char* noun);
// "48 B in 2 blocks"
std::string amount(const report::BlockCount& count);

}  // namespace heaptap::findings
