// Request for a log: the preloaded agent asks the collector through a socket named in the environment.
#pragma once
#include <stdint.h>

#include "common/wire/handshake.h"
#include "common/wire/log.h"

namespace heaptap::agent {

struct LogRequest {
  char socket_name[108] = {};     // the whole text from the environment (wire::kSessionVariable)
  uint8_t socket_name_bytes = 0;  // length of the name in it; the secret follows
  bool may_need_line = false;     // the process may have left its original network namespace, see line.h
  uint32_t filters = 0;           // number of system call filters that heaptap itself is under
  bool begins_off = false;        // the program is to begin switched off
  // From the environment, until it is cleaned: output for a collector started by the agent itself. Null: not requested.
  const char* output = nullptr;
  const char* collector = nullptr;  // path of that collector; null: beside the agent
};
extern LogRequest g_log_request;

// Parses the environment (wire::kSessionVariable, wire::kFiltersVariable). Call before the first hook can run.
void set_socket_name(const char* text);
void set_collectors_filters(const char* text);

// This process's data for the collector.
wire::Hello make_hello(wire::StartReason reason);

// Notes in the log that libraries have scopes of their own. Call after the session has started: one may have been loaded before that.
void tell_own_scopes(wire::LogHeader& log);

}  // namespace heaptap::agent
