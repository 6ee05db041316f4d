// Names of registers.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace heaptap::analysis {

// Of a register by its DWARF number, as `Capture::architecture` names the CPU; "register 99" where it isn't known.
std::string register_name(std::string_view architecture, uint64_t number);

}  // namespace heaptap::analysis
