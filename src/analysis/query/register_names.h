// Register names by DWARF number.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace heaptap::query {

// `architecture`: as in `Capture::architecture`; "register 99" if unknown.
std::string register_name(std::string_view architecture, uint64_t number);

}  // namespace heaptap::query
