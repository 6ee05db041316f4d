// How the preloaded agent gets its log: it asks the collector, by a socket whose name the environment had.
#pragma once
#include <stdint.h>

#include "wire/handshake.h"
#include "wire/log.h"

namespace heaptap::agent {

struct LogRequest {
  char socket_name[108] = {};     // all of the text that the environment had (wire::kSessionVariable)
  uint8_t socket_name_bytes = 0;  // of the name in it; the secret comes behind
  bool may_need_line = false;     // the process may have left the network namespace that it was started in, see line.h
  uint32_t filters = 0;           // of system calls, that heaptap itself is under
  bool begins_off = false;        // the program asks for that
  // Of the environment, until it is cleaned: the process is to be recorded by a collector that the agent starts itself. Null: no.
  const char* output = nullptr;
  const char* collector = nullptr;  // the program that it is; null: the one beside the agent
};
extern LogRequest g_log_request;

// What the environment says (wire::kSessionVariable, wire::kFiltersVariable). Before the first hook can run.
void set_socket_name(const char* text);
void set_collectors_filters(const char* text);

// What the collector is told of this process.
wire::Hello make_hello(wire::StartReason reason);

// Tells a log of libraries that have scopes of their own. Once the session has started: one may be loaded meanwhile.
void tell_own_scopes(wire::LogHeader& log);

}  // namespace heaptap::agent
