// What the agent must know of what the program forbids itself.
#pragma once

namespace heaptap::agent {

// The program is about to install a filter of system calls: the agent takes back what would need any later.
void note_filter();

}  // namespace heaptap::agent
