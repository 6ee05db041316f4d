// Pages of a long answer: an assistant reads as much of it as it needs.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/result.h"

namespace heaptap::mcp {

inline constexpr size_t kMaxPageBytes = 8192;

// The part of `text` from that byte on, at most kMaxPageBytes with the line that says how to get the next one. It ends with a whole line
// where lines aren't longer than a page, else with a whole character. Fails behind the end.
base::Result<std::string> page_of(std::string_view text, uint64_t cursor);

}  // namespace heaptap::mcp
