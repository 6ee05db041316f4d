// Identification of a process's recorder by clients: socket names can be guessed, and an abstract one belongs to the
// first process that binds it, so only a verified listener is trusted.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <vector>

#include "common/base/result.h"
#include "common/base/unique_fd.h"
#include "common/endpoint/address.h"

namespace heaptap::client {

// Facts of a listener according to the kernel, not to the listener itself.
struct Listener {
  std::optional<uid_t> user = {};    // when it began to listen; none: unknown
  bool is_in_own_directory = false;  // a directory where only this user (and root) can create the socket
  bool is_of_process = false;        // the recorded process's tracer or parent, or an ancestor of these
  bool is_heaptap = false;           // runs this program, or one of its name, in the same PID namespace
};

enum class Belief {
  kBelieved,     // trusted with requests
  kAnotherUser,  // it records the process, for another user
  kNone,
};

// Root trusts only root; others trust themselves and root.
Belief judge(const Listener& listener, uid_t asker);

struct Parents {
  pid_t parent = 0;
  pid_t tracer = 0;  // 0: not traced
};
// Whether `candidate` is the process's tracer or parent, or an ancestor of these. parents_of returns none for a process that is gone.
bool is_above(pid_t candidate, pid_t process, const std::function<std::optional<Parents>(pid_t)>& parents_of);

// Blocking; waits up to `wait_budget` if the backlog is full. None on failure, errno set.
base::UniqueFd connect_in_time(const endpoint::Address& address, std::chrono::milliseconds wait_budget);

// Connects to the process's recorder, blocking. Never reads from any other listener.
base::Result<base::UniqueFd> connect_to_recorder(const endpoint::ProcessName& process);

// Whether any process listens under the name of a recording of this process, trusted or not. Doesn't wait.
bool has_listener(const endpoint::ProcessName& process);

// A recorder that serves this user.
struct Reached {
  pid_t recorder = 0;         // according to the kernel; 0: unknown, for instance in another PID namespace
  base::UniqueFd connection;  // blocking; none: it accepts no further connections
};
// None: nobody who is trusted listens. Doesn't wait, not even for a recorder that is stopped.
std::optional<Reached> reach_recorder(const endpoint::ProcessName& process);

// Local processes with a socket, in the private directories and in the abstract namespace, of any creator.
std::vector<endpoint::ProcessName> processes_with_socket();

}  // namespace heaptap::client
