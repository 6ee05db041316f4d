// The injected agent's side of common/wire/injected_agent.h.
#pragma once
#include "common/wire/injected_agent.h"

extern "C" __attribute__((visibility("default"))) heaptap::wire::InjectedAgent heaptap_injected_agent;
