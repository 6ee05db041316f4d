// Collector started by the agent, for a program that heaptap didn't start: it is no child of the program and shares
// only its namespaces, working directory and rights. Invisible to the program: no child to wait for, no signal, no
// descriptor (docs/decisions/0068-a-collector-of-the-agents-own.md).
#pragma once

namespace heaptap::agent {

// Sets agent_path() to the agent's library as the loader has it.
void note_own_path();

// On success g_log_request names the collector's socket, which accepts requests already. False: no collector, and the
// program isn't recorded. Call before the first session, in the process's first thread.
bool start_own_collector();

}  // namespace heaptap::agent
