// Whose a SIGTRAP is. Breakpoint instructions are all that the tracer uses: no debug registers, no single steps, whose stops
// not every machine tells as its CPU's manual has it.
#pragma once
#include <cstdint>

namespace heaptap::tracer {

// What is known of a thread that stopped with SIGTRAP.
struct TrapFacts {
  int code = 0;                 // si_code; 0: it isn't known, or a program has sent the signal
  bool is_behind_site = false;  // it stands where it would after a breakpoint that the tracer has, or had
  bool is_planted = false;      // that one's instruction hasn't been taken out
  bool is_blocked = false;      // the thread blocks SIGTRAP: nothing that is sent gets to it
  bool is_breakpoint = false;   // such an instruction is in the memory there now, whoever has put it there
};

enum class TrapOwner : uint8_t {
  kProgram,
  kSite,    // it has met a breakpoint
  kLifted,  // it has met one that was taken out before it told: the program's own instruction is there again
};

// By a program (sigaction(2), si_code).
constexpr bool is_sent(int code) { return code <= 0; }

constexpr TrapOwner owner_of(const TrapFacts& facts) {
  constexpr int kOfKernel = 0x80;  // SI_KERNEL: x86's breakpoint instruction
  constexpr int kBreakpoint = 1;   // TRAP_BRKPT: other CPUs'
  // Else what a program sends may come anywhere, also behind a breakpoint whose instruction was emulated. Single steps and watched
  // instructions are the program's own, or its debugger's.
  // One that waited behind the thread's mask comes in the place of a breakpoint's, which has taken the mask away: the kernel keeps one
  // of each signal.
  const bool may_be_ours =
      facts.code == kOfKernel || facts.code == kBreakpoint || (is_sent(facts.code) && facts.is_blocked);
  if (!may_be_ours || !facts.is_behind_site) return TrapOwner::kProgram;
  if (facts.is_planted) return TrapOwner::kSite;
  return facts.is_breakpoint ? TrapOwner::kProgram : TrapOwner::kLifted;
}

}  // namespace heaptap::tracer
