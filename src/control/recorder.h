// Who asks for a recording finds the one who makes it, and believes nobody else: names of sockets can be guessed, and whoever
// takes an abstract one first has it.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "control/address.h"

namespace heaptap::control {

// What is known of the one who listens, by the kernel and not by its own words.
struct Listener {
  std::optional<uid_t> user = {};  // as it began to listen; none: it isn't told
  bool is_in_own_folder = false;   // where only this user (and root) can have put the socket
  bool is_of_process = false;      // the recorded process's tracer or parent, or one of their parents
  bool is_heaptap = false;         // runs this program, or one of its name, in the same pid namespace
};

enum class Belief {
  kBelieved,     // it is told and asked
  kAnotherUser,  // it records the process, for another user
  kNone,
};

// Root believes root alone; others believe themselves and root.
Belief judge(const Listener& listener, uid_t asker);

struct Parents {
  pid_t parent = 0;
  pid_t tracer = 0;  // 0: nobody traces it
};
// Whether `candidate` is the process's tracer or parent, or one of theirs. Asked of each process on the way: none, where it is gone.
bool is_above(pid_t candidate, pid_t process, const std::function<std::optional<Parents>(pid_t)>& parents_of);

// Blocking; waits so long where too many are waiting there. None: errno says why.
base::UniqueFd connect_in_time(const Address& address, std::chrono::milliseconds patience);

// Connected to the process's recorder, blocking. What another one says is never read.
base::Result<base::UniqueFd> connect_to_recorder(const ProcessName& process);

// Whether a recorder listens there that answers this user. Doesn't wait.
bool is_reachable(const ProcessName& process);

// Processes of this machine that have a socket, in the own folders and in the abstract namespace, by whomever it was made.
std::vector<ProcessName> processes_with_socket();

}  // namespace heaptap::control
