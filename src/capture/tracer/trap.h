// Origin of a SIGTRAP. The tracer uses breakpoint instructions only: no debug registers, no single steps, which not
// every machine reports as its CPU's manual specifies.
#pragma once
#include <cstdint>

namespace heaptap::tracer {

// Facts of a thread that stopped with SIGTRAP.
struct TrapFacts {
  int code = 0;                 // si_code; 0: unknown, or sent by a program
  bool is_behind_site = false;  // its position is that after a breakpoint that the tracer has, or had
  bool is_planted = false;      // that breakpoint's instruction is still in place
  bool is_blocked = false;      // the thread blocks SIGTRAP: sent signals aren't delivered
  bool is_breakpoint = false;   // memory there has a breakpoint instruction now, of any origin
};

enum class TrapOwner : uint8_t {
  kProgram,
  kSite,    // it has hit a breakpoint
  kLifted,  // it has hit one that was removed before the report: the original instruction is there again
};

// Sent by a program (sigaction(2), si_code).
constexpr bool is_sent(int code) { return code <= 0; }

constexpr TrapOwner owner_of(const TrapFacts& facts) {
  constexpr int kOfKernel = 0x80;  // SI_KERNEL: x86's breakpoint instruction
  constexpr int kBreakpoint = 1;   // TRAP_BRKPT: on other CPUs
  // Otherwise a signal sent by a program may arrive anywhere, also after a breakpoint whose instruction was emulated.
  // Single steps and watchpoints belong to the program or its debugger. A signal pending behind the thread's mask
  // replaces a breakpoint's, which has cleared the mask: the kernel keeps one of each signal.
  const bool may_be_ours =
      facts.code == kOfKernel || facts.code == kBreakpoint || (is_sent(facts.code) && facts.is_blocked);
  if (!may_be_ours || !facts.is_behind_site) return TrapOwner::kProgram;
  if (facts.is_planted) return TrapOwner::kSite;
  return facts.is_breakpoint ? TrapOwner::kProgram : TrapOwner::kLifted;
}

}  // namespace heaptap::tracer
