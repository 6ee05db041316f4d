// What options are about. These are the headings in the help of a command, in this order, and those of its man page
// (tests/e2e/man_test.py compares them).
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace heaptap::app {

enum class OptionGroup : uint8_t { kOutput, kCapture, kProcesses, kSymbols, kRemote, kReport, kOther };
inline constexpr std::array<std::string_view, 7> kOptionGroupNames{"Output", "Capture", "Processes", "Symbols",
                                                                   "Remote", "Report",  "Other"};

}  // namespace heaptap::app
