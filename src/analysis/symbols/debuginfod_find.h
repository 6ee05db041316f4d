// Debug files by the program debuginfod-find, for a heaptap that can't load libdebuginfod. Private to symbols/.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "common/base/result.h"

namespace heaptap::symbols {

// Path of debuginfod-find in the absolute directories of $PATH; empty: it isn't there.
std::string debuginfod_find_program();

struct DebuginfodFind {
  std::string program;
  std::string build_id;  // bytes
  uint64_t max_bytes = 0;
  std::chrono::seconds silence{};  // without enough bytes, after which debuginfod-find gives up
};

// Path of the debug file, as the program prints it; it may be any. Asks `goes_on` some times a second whether to wait on; where it says
// no, the program is killed, and the result is an error. Runs no shell, and takes little of what the program prints.
base::Result<std::string> run_debuginfod_find(const DebuginfodFind& wanted, const std::function<bool()>& goes_on);

}  // namespace heaptap::symbols
