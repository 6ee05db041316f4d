// Stack of a thread whose signal ends the process with a core dump, as found by the leak scan at the end.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/wire/log.h"

namespace heaptap::model {

inline constexpr size_t kMaxCrashFrames = 256;

struct Crash {
  int signal = 0;
  uint32_t thread_id = 0;  // the kernel's
  wire::StackEnd end = wire::StackEnd::kComplete;
  // Innermost first, at most kMaxCrashFrames: an address, with wire::kCodeExact that of an interrupted instruction.
  std::vector<uint64_t> codes;
  bool operator==(const Crash&) const = default;
};

}  // namespace heaptap::model
