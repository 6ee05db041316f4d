// Inherited connection to the collector, for processes that can't find its socket by name: an abstract name exists in
// one network namespace only. A program that leaves the namespace keeps a connection from before, inherited by its
// children and by programs that the agent is handed on to. No other program gets a descriptor of the agent.
#pragma once
#include <stdint.h>

#include "common/wire/handshake.h"

namespace heaptap::agent {

class Socket;

// Call before the process, or a child of it, leaves the network namespace.
void keep_line();

// Call before clone, unshare or setns with these flags.
inline void note_namespaces(uint64_t flags) {
  constexpr uint64_t kNewNetwork = 0x40000000;  // CLONE_NEWNET
  if ((flags & kNewNetwork) != 0) keep_line();
}

// The program's session has begun or failed: keeps the inherited connection where it is the only one.
void settle_line(bool is_recorded);

// Whether a program executed by this process could reach the collector only through the line.
bool is_line_needed();

// Whether a program executed by this process can reach the collector.
bool is_collector_in_reach();

// Scope of an exec with the agent: passes the line to the new program if it needs it.
class HandedLine {
 public:
  HandedLine();
  ~HandedLine();
  HandedLine(const HandedLine&) = delete;
  HandedLine& operator=(const HandedLine&) = delete;

 private:
  int line_ = -1;
};

// Sends the message through the line. The answer arrives on `socket`. False: there is no line.
bool ask_by_line(Socket& socket, const wire::Hello& hello);

}  // namespace heaptap::agent
