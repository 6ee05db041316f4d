// Signal action in the kernel's layout, as of rt_sigaction(2).
#pragma once
#include <stdint.h>

namespace heaptap::agent {

struct KernelAction {
  uintptr_t handler;  // 0: the default; 1: ignored
  uint64_t flags;
  uintptr_t restorer;
  uint64_t mask;
};

// From asm/signal.h, which conflicts with a C library's headers.
namespace signal_flag {
inline constexpr uint64_t kInfo = 0x4;
inline constexpr uint64_t kRestorer = 0x04000000;
inline constexpr uint64_t kOnStack = 0x08000000;
inline constexpr uint64_t kRestart = 0x10000000;
inline constexpr uint64_t kInterrupt = 0x20000000;
inline constexpr uint64_t kNoDefer = 0x40000000;
inline constexpr uint64_t kResetHandler = 0x80000000;
inline constexpr uint64_t kKnown = kInfo | kRestorer | kOnStack | kRestart | kNoDefer | kResetHandler | 0x3 | 0x800;
}  // namespace signal_flag

}  // namespace heaptap::agent

// Restorer: the code that a handler returns to.
extern "C" __attribute__((visibility("hidden"))) void heaptap_signal_return();
