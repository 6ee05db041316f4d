// A collector for a program that heaptap didn't start: the agent starts one, which is no child of the program's and has nothing of
// it but its namespaces, its working directory and its rights. The program notices nothing: no child to wait for, no signal, no
// descriptor (docs/decisions/0068-a-collector-of-the-agents-own.md).
#pragma once

namespace heaptap::agent {

// The agent's library as the loader has it becomes agent_path().
void note_own_path();

// Then g_log_request names the collector's socket, on which requests are waited for. False: there is none, and the program isn't
// recorded. Before the first session, in the process's first thread.
bool start_own_collector();

}  // namespace heaptap::agent
