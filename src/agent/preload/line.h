// A way to the collector for processes that can't find its socket by name: that name is known in one network namespace only. A
// program that leaves it keeps a connection from before, which its children inherit, and the programs that the agent is handed
// on to. No other program has a descriptor of the agent's.
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

// As a program's session begins, or came to nothing: the line that it was handed is kept where it is the only way.
void settle_line(bool is_recorded);

// Whether a program that this process executes would find the collector by the line alone.
bool is_line_needed();

// Whether a program that this process executes finds the collector.
bool is_collector_in_reach();

// Lives while a program is executed that the agent goes on in: that one gets the line, if it needs it.
class HandedLine {
 public:
  HandedLine();
  ~HandedLine();
  HandedLine(const HandedLine&) = delete;
  HandedLine& operator=(const HandedLine&) = delete;

 private:
  int line_ = -1;
};

// Sends the message by the line. The answer comes to `socket`. False: there is no line.
bool ask_by_line(Socket& socket, const wire::Hello& hello);

}  // namespace heaptap::agent
