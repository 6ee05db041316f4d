// Startup of the preloaded library, as needed by the hooks.
#pragma once
#include "agent/core/platform.h"

namespace heaptap::agent {

extern __attribute__((tls_model("initial-exec"))) __thread ThreadAnchor g_anchor;

// The value of "NAME=value", or null where the entry has another name.
char* value_of(char* entry, const char* name);

// Value from the auxiliary vector (AT_…); 0: unknown.
uintptr_t told_by_kernel(uintptr_t type);

// The program's initial environment; null: unknown.
char** find_environment();

// Path of the agent's library from LD_PRELOAD; empty: not there, or too long.
const char* agent_path();

// Sets the path that the loader has, where it isn't known yet, so that other programs find the agent as well.
void set_agent_path(const char* path);

// Reads the collector's variables from the environment. Call before the first session can start; more calls have no effect.
void read_environment();

// The function that syscall() continues in for a program that reads or sets dispositions by it (exit_dispositions.cc).
void* choose_action_by_number();

}  // namespace heaptap::agent
