// Selector of a program of a recording.
#pragma once
#include <cstdint>

namespace heaptap::client {

struct ProgramId {
  // NOLINTNEXTLINE(google-explicit-constructor,hicpp-explicit-conversions): a process alone means what it is now
  ProgramId(uint32_t of_process, uint32_t nth = 0) : pid(of_process), image(nth) {}
  uint32_t pid;    // 0: the first process
  uint32_t image;  // 0: the last one
};

}  // namespace heaptap::client
