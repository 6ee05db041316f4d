// Breakpoints that stand in the program's code while that is replaced. Who replaces it answers them (capture/inject/quiesce.h). If that was
// killed, this handler does: it goes on as the code will when it has been replaced, to the hook. Any other trap is the program's.
#include "agent/inject/traps.h"

#include <stdint.h>

#include "agent/core/exit_signals.h"
#include "agent/core/signal_action.h"
#include "agent/core/signal_context.h"
#include "agent/inject/contract.h"

namespace heaptap::agent {
namespace {

constexpr uintptr_t kDefault = 0;
constexpr uintptr_t kIgnored = 1;
constexpr uintptr_t kBreakpointBytes = 1;

// Of the breakpoint that raised the signal. 0: none of these. Where it had been answered halfway, the thread stands before it again.
uintptr_t entry_of(uintptr_t counter) {
  for (uint64_t i = 0; i < heaptap_injected_agent.site_count; ++i) {
    const wire::InjectedSite& site = heaptap_injected_agent.sites[i];
    if (counter == site.address || counter == site.address + kBreakpointBytes) return site.entry;
  }
  return 0;
}

}  // namespace
}  // namespace heaptap::agent

void heaptap_injected_on_trap(int number, int* info, void* context) {
  using namespace heaptap::agent;
  constexpr int kCode = 2;           // word of siginfo_t
  constexpr int kFromKernel = 0x80;  // SI_KERNEL: a breakpoint
  uintptr_t& counter = found_at<uintptr_t>(context, heaptap::arch::native::Unwinding::kSignalProgramCounter);
  const uintptr_t entry = info[kCode] == kFromKernel ? entry_of(counter) : 0;
  if (entry != 0) {
    counter = entry;
    return;
  }
  const auto programs = reinterpret_cast<uintptr_t>(heaptap_injected_agent.programs_trap_action.handler);
  if (programs == kIgnored && info[kCode] <= 0) return;  // sent; what an instruction raises isn't ignored
  if (programs == kDefault || programs == kIgnored) return let_happen(number, {}, info, context);
  heaptap_injected_agent.programs_trap_action.handler(number, info, context);
}
