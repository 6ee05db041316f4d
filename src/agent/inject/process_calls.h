// Calls by which the program reads and sets dispositions of signals, and restricts itself.
#pragma once
#include <stdint.h>

#include "common/wire/injected_agent.h"

namespace heaptap::agent {

// Whether the agent has to know of such a call. `arguments`: six.
bool concerns_agent(const wire::InjectedFunction& hooked, const uintptr_t* arguments);

// Makes one, by the function itself. Its result.
uintptr_t make_process_call(const wire::InjectedFunction& hooked, const uintptr_t* arguments);

}  // namespace heaptap::agent
