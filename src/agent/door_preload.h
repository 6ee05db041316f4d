// What the hooks of the preloaded library need of their door.
#pragma once
#include "agent/door.h"

namespace heaptap::agent {

extern __attribute__((tls_model("initial-exec"))) __thread ThreadAnchor g_anchor;

// Reads what the collector left in the environment. Before the first session can start; more calls do nothing.
void open_door();

}  // namespace heaptap::agent
