// Time as "2026-11-26T17:10:00Z" (RFC 3339). strftime() would bring time zones and locales into the static program.
#pragma once
#include <cstdint>
#include <string>

namespace heaptap::base {

// Seconds since 1970.
std::string utc_text(int64_t time);

}  // namespace heaptap::base
