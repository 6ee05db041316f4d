// The injected agent's side of common/wire/injected_agent.h.
#pragma once
#include "common/wire/injected_agent.h"

// By its other name the stubs of the hooks know it.
extern "C" __attribute__((visibility("default"))) heaptap::wire::InjectedAgent heaptap_injected_agent;
extern "C" __attribute__((visibility("hidden"))) heaptap::wire::InjectedAgent heaptap_injected_contract;
