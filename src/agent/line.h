// A way to the collector for processes that can't find its socket by name: that name is known in one network namespace only. A
// program that leaves it keeps a connection from before, which its children and the programs that they execute inherit. No
// other program has a descriptor of the agent's.
#pragma once
#include <stdint.h>

#include "wire/handshake.h"

namespace heaptap::agent {

class Socket;

// To be called before the process, or a child of it, leaves the network namespace.
void keep_line();

// Before a call of clone, unshare or setns with these flags.
inline void note_namespaces(uint64_t flags) {
  constexpr uint64_t kNewNetwork = 0x40000000;  // CLONE_NEWNET
  if ((flags & kNewNetwork) != 0) keep_line();
}

// Sends the message by the line. The answer comes to `socket`. False: there is no line.
bool ask_by_line(Socket& socket, const wire::Hello& hello);

}  // namespace heaptap::agent
