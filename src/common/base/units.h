// Sizes and durations in human-readable form: parsing and formatting.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/result.h"

namespace heaptap::base {

// "4096", "64K", "100M", "1.5G" (powers of 1024; a trailing B or iB is allowed) to bytes.
Result<uint64_t> parse_size(std::string_view text);

// "250ms", "30s", "5m", "1h", a bare number is seconds; to nanoseconds.
Result<uint64_t> parse_duration(std::string_view text);

// "0 B", "1,023 B", "1.5 KiB", "12.3 MiB": at most three digits and one decimal, powers of 1024.
std::string format_bytes(uint64_t bytes);
// In tenths of a unit, rounded as format_bytes() does it: ties to even.
uint64_t tenths_of(uint64_t bytes, uint64_t unit);

// "850 ns", "1.2 ms", "3.45 s", "2 min 5 s".
std::string format_duration(uint64_t nanoseconds);

// "1,234,567".
std::string format_count(uint64_t count);

}  // namespace heaptap::base
