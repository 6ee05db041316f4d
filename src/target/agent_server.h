// Where agents ask for a log: an abstract UNIX socket that only this user's (or root's) processes are answered on.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "target/log_memory.h"
#include "wire/handshake.h"

namespace heaptap::target {

struct AgentRequest {
  int connection;  // answer() closes it
  pid_t process;   // as the kernel says
  wire::Hello hello;
};

class AgentServer {
 public:
  // `socket`: listening, or -1 with errno set.
  AgentServer();
  ~AgentServer();
  AgentServer(const AgentServer&) = delete;
  AgentServer& operator=(const AgentServer&) = delete;

  [[nodiscard]] int socket() const { return socket_; }
  [[nodiscard]] const std::string& name() const { return name_; }

  // The next request, if one waits. Connections that speak another language are closed.
  std::optional<AgentRequest> accept();
  // Hands the log over; null: there is none for this process. False: the agent is gone.
  static bool answer(const AgentRequest& request, LogMemory* log);

 private:
  std::string name_;
  int socket_;
};

}  // namespace heaptap::target
