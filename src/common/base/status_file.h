// Fields of /proc/PID/status: a line "Name:\tvalue" each. The first one is the program's name, whose newlines are escaped.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace heaptap::base {

// Value of the field `name`, without the blanks before it. Empty: no such field.
std::string_view status_field(std::string_view status, std::string_view name);

// Number that the value begins with: in base 16 for signal masks and capabilities, in base 8 for Umask. None: no such field, or no
// number that fits.
std::optional<uint64_t> status_number(std::string_view status, std::string_view name, int base = 10);

}  // namespace heaptap::base
