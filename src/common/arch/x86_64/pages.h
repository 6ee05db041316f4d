// Page size, which the CPU determines.
#pragma once
#include <stdint.h>

namespace heaptap::arch::x86_64 {

inline constexpr uintptr_t kPageBytes = 4096;

}  // namespace heaptap::arch::x86_64
