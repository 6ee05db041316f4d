// Where agents ask for a log: an abstract UNIX socket. Its name is public (/proc/net/unix), so whoever asks has to say a
// secret as well, which only the program and what it starts were given. Nobody is waited for: who connects and says nothing is kept aside,
// in bounded number and for a bounded time.
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

#include "base/result.h"
#include "base/unique_fd.h"
#include "log/log_memory.h"
#include "wire/handshake.h"

namespace heaptap::collect {

struct AgentRequest {
  base::UniqueFd connection;  // for answer()
  pid_t process = 0;          // as the kernel says
  wire::Hello hello{};
  base::UniqueFd attached = {};  // that came with it
};

class AgentServer {
 public:
  static base::Result<AgentServer> create();
  // By a socket that listens already. `session` is what session() gives. Agents are told that they wait for a process that is no
  // ancestor of theirs.
  static base::Result<AgentServer> adopt(base::UniqueFd socket, const std::string& session);

  [[nodiscard]] int socket() const { return socket_.get(); }
  [[nodiscard]] const std::string& name() const { return name_; }
  // What agents are to be given (wire::kSessionVariable): the name and the secret.
  [[nodiscard]] std::string session() const { return name_ + wire::kSecretSeparator + secret_; }

  void add_waits(std::vector<pollfd>& waits) const;
  // The next request, if a whole one is there. Never waits.
  std::optional<AgentRequest> accept();
  // Hands the log over; null: there is none for this process. False: the agent is gone.
  bool answer(base::UniqueFd connection, log::LogMemory* log) const;

  // The answer to who is recorded, and asked something. Any thread may call it.
  static void tell(const base::UniqueFd& connection, uint32_t error, std::span<const uint64_t, 10> counts);

  // Connections that were closed because they said nothing, or nothing that one of ours says.
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
  std::deque<Pending> pending_;        // the oldest first
  std::vector<base::UniqueFd> lines_;  // connections of wire::StartReason::kLine
  uint64_t refused_ = 0;
  uint32_t welcome_flags_ = 0;  // wire::WelcomeFlag
};

}  // namespace heaptap::collect
