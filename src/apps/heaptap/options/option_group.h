// Option groups: the headings of a command's help, in this order, and of its man page (tests/e2e/man_test.py compares them).
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace heaptap::app {

enum class OptionGroup : uint8_t { kOutput, kCapture, kProcesses, kSymbols, kRemote, kPush, kReport, kOther };
inline constexpr std::array<std::string_view, 8> kOptionGroupNames{"Output", "Capture", "Processes", "Symbols",
                                                                   "Remote", "Push",    "Report",    "Other"};

}  // namespace heaptap::app
