// Server for agents that request a log: an abstract UNIX socket. Its name is public (/proc/net/unix), so a client must
// also present a secret, known only to the program and its children. Never waits for a client: silent connections are
// kept aside, limited in number and time.
#pragma once
#include <poll.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "capture/log/log_memory.h"
#include "common/base/result.h"
#include "common/base/unique_fd.h"
#include "common/wire/handshake.h"

namespace heaptap::supervision {

struct AgentRequest {
  base::UniqueFd connection;  // used by answer()
  pid_t process = 0;          // according to the kernel
  wire::Hello hello{};
  base::UniqueFd attached = {};  // received with the request
};

class AgentServer {
 public:
  static base::Result<AgentServer> create();
  // Uses a socket that listens already. `session`: the result of session(). Agents are informed that the collector is
  // no ancestor of theirs.
  static base::Result<AgentServer> adopt(base::UniqueFd socket, const std::string& session);

  [[nodiscard]] int socket() const { return socket_.get(); }
  [[nodiscard]] const std::string& name() const { return name_; }
  // Session string for agents (wire::kSessionVariable): the name and the secret.
  [[nodiscard]] std::string session() const { return name_ + wire::kSecretSeparator + secret_; }

  void add_waits(std::vector<pollfd>& waits) const;
  // The next complete request, if any. Never waits.
  std::optional<AgentRequest> accept();
  // Hands over the log; null: this process isn't recorded. False: the agent is gone.
  bool answer(base::UniqueFd connection, log::LogMemory* log) const;

  // Answers a request of a recorded program. Thread-safe.
  static void tell(const base::UniqueFd& connection, uint32_t error, std::span<const uint64_t, 10> counts);

  // Number of connections closed because they sent nothing, or nothing valid.
  [[nodiscard]] uint64_t refused() const { return refused_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Pending {
    base::UniqueFd connection;
    pid_t process;
    uid_t user;
    Clock::time_point since;
  };

  AgentServer(std::string name, std::string secret, base::UniqueFd socket);
  std::optional<AgentRequest> next_of_lines();
  void keep_line(base::UniqueFd connection);
  std::optional<AgentRequest> next_of_pending();
  bool take_connections();
  void take_connection(base::UniqueFd connection);
  std::deque<Pending>::iterator refuse(const std::deque<Pending>::iterator& pending);
  [[nodiscard]] bool is_sound(const wire::Hello& hello) const;

  std::string name_;
  std::string secret_;
  base::UniqueFd socket_;
  std::deque<Pending> pending_;        // oldest first
  std::vector<base::UniqueFd> lines_;  // connections of wire::StartReason::kLine
  uint64_t refused_ = 0;
  uint32_t welcome_flags_ = 0;  // wire::WelcomeFlag
};

}  // namespace heaptap::supervision
