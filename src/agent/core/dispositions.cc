#include "agent/core/dispositions.h"

#include "agent/core/exit_signals.h"
#include "agent/core/report_signal.h"

namespace heaptap::agent {
namespace {

// Whether the agent's handler is in the place of the program's action, which this is then.
bool find_programs(int number, uintptr_t handler, KernelAction& programs) {
  if (report_signal::is_own_handler(handler)) {
    programs = report_signal::programs_action();
    return true;
  }
  if (!is_fatal(number) || !is_own_handler(handler)) return false;
  programs = programs_action(number);
  return true;
}

}  // namespace

void hide_own_handler(int number, LibcAction& action) {
  KernelAction programs{};
  if (!find_programs(number, action.handler, programs)) return;
  action.handler = programs.handler;
  action.mask[0] = programs.mask;
  action.flags = static_cast<int>(programs.flags);
  action.restorer = programs.restorer;
}

void hide_own_handler(int number, KernelAction& action) { find_programs(number, action.handler, action); }

}  // namespace heaptap::agent
