// What the hooks of the preloaded library need of its beginning.
#pragma once
#include "agent/core/platform.h"

namespace heaptap::agent {

extern __attribute__((tls_model("initial-exec"))) __thread ThreadAnchor g_anchor;

// The value of "NAME=value", or null where the entry has another name.
char* value_of(char* entry, const char* name);

// What the kernel told the program as it began (AT_…); 0: it isn't known.
uintptr_t told_by_kernel(uintptr_t type);

// The environment that the program began with; null: it isn't known.
char** find_environment();

// The agent's library, as it stood in LD_PRELOAD; empty: it didn't, or the path is too long.
const char* agent_path();

// Where nobody has said it: as the loader has it, so that other programs find it there, too.
void set_agent_path(const char* path);

// Reads what the collector left in the environment. Before the first session can start; more calls do nothing.
void read_environment();

// What syscall() goes on with for a program that sets or asks for dispositions by it (exit_dispositions.cc).
void* choose_action_by_number();

}  // namespace heaptap::agent
