// Signal action in the kernel's layout, as of rt_sigaction(2).
#pragma once
#include <stdint.h>

#include "common/arch/native.h"

namespace heaptap::agent {

// A set of signals, in memory that is aligned for words of the CPU.
using SignalSet [[gnu::aligned(sizeof(long))]] = uint64_t;

// The signal in such a set: its first word has the first signals, also where a number's first word is its upper half.
constexpr uint64_t signal_bit(int number) {
  constexpr bool kHalvesAreSwapped = sizeof(long) < sizeof(uint64_t) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
  return uint64_t{1} << ((number - 1) ^ (kHalvesAreSwapped ? 32 : 0));
}

struct KernelAction {
  uintptr_t handler;  // 0: the default; 1: ignored
  unsigned long flags;
  uintptr_t restorer;
  SignalSet mask;
};
static_assert(sizeof(KernelAction) == 3 * sizeof(long) + sizeof(uint64_t));

// From asm/signal.h, which conflicts with a C library's headers.
namespace signal_flag {
inline constexpr unsigned long kInfo = 0x4;
inline constexpr unsigned long kRestorer = 0x04000000;
inline constexpr unsigned long kOnStack = 0x08000000;
inline constexpr unsigned long kRestart = 0x10000000;
inline constexpr unsigned long kInterrupt = 0x20000000;
inline constexpr unsigned long kNoDefer = 0x40000000;
inline constexpr unsigned long kResetHandler = 0x80000000;
inline constexpr unsigned long kKnown =
    kInfo | kRestorer | kOnStack | kRestart | kNoDefer | kResetHandler | 0x3 | 0x800;
}  // namespace signal_flag

}  // namespace heaptap::agent

// Restorer: the code that a handler returns to.
extern "C" __attribute__((visibility("hidden"))) void heaptap_signal_return();

namespace heaptap::agent {

// An action of the agent's with the agent's restorer, or the kernel's where it has one.
inline KernelAction with_restorer(KernelAction action) {
  if constexpr (arch::native::Unwinding::kNeedsRestorer) {
    action.flags |= signal_flag::kRestorer;
    action.restorer = reinterpret_cast<uintptr_t>(&heaptap_signal_return);
  }
  return action;
}

}  // namespace heaptap::agent
