#include "views/client/recorder.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "capture/process/process_status.h"
#include "common/base/small_file.h"
#include "common/base/socket_peer.h"
#include "common/endpoint/own_directory.h"

namespace heaptap::client {
namespace {

using std::chrono::milliseconds;

// Timeout for a place in the listener's queue: a recorder may be in a scan of a large program. A process that took the
// abstract name and never accepts gets no further time.
constexpr milliseconds kDirectoryPatience{30'000};
constexpr milliseconds kAbstractPatience{300};

bool is_same_file(const std::string& one, const std::string& other) {
  struct stat first{};
  struct stat second{};
  return stat(one.c_str(), &first) == 0 && stat(other.c_str(), &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

// /proc/PID/exe and ns/pid are readable by the same user and by root only. Other users' processes don't matter here.
bool runs_heaptap(pid_t process) {
  const std::string directory = fmt::format("/proc/{}", process);
  if (!is_same_file(directory + "/ns/pid", "/proc/self/ns/pid")) return false;
  if (is_same_file(directory + "/exe", "/proc/self/exe")) return true;
  const std::string path = base::read_link(directory + "/exe");
  const std::string_view name = base::file_name_of(path);
  return name == "heaptap" || name == "heaptap (deleted)";  // another version, or replaced since
}

std::optional<Parents> parents_of(pid_t process) {
  const auto status = process::read_thread_status(process);
  if (!status) return std::nullopt;
  return Parents{status->parent, status->tracer};
}

Listener describe(const base::Peer& peer, const endpoint::ProcessName& process, bool is_in_own_directory) {
  Listener listener{.user = peer.user, .is_in_own_directory = is_in_own_directory};
  if (is_in_own_directory || peer.process <= 0) return listener;
  listener.is_of_process = process.machine.empty() && is_above(peer.process, process.pid, parents_of);
  listener.is_heaptap = runs_heaptap(peer.process);
  return listener;
}

// The listener at one of a process's sockets.
struct Found {
  base::UniqueFd connection;  // none: no listener
  base::Peer peer;
  Belief belief = Belief::kNone;
  bool is_full = false;  // without a connection: one listens, whose queue is full
};

Found look_at(const endpoint::Address& address, const endpoint::ProcessName& process, bool is_in_own_directory,
              milliseconds wait_budget) {
  Found found;
  errno = 0;
  found.connection = connect_in_time(address, wait_budget);
  if (!found.connection) {
    found.is_full = errno == EAGAIN;
    return found;
  }
  found.peer = base::peer_of(found.connection.get());
  found.belief = judge(describe(found.peer, process, is_in_own_directory), geteuid());
  return found;
}

// The first trusted listener, else any process that has the abstract name.
Found look_for_recorder(const endpoint::ProcessName& process, milliseconds directory_patience,
                        milliseconds abstract_patience) {
  bool is_full = false;
  for (const std::string& directory : endpoint::own_directories()) {
    const auto address = endpoint::address_of_file(directory + "/" + endpoint::file_name_of(process));
    if (!address) continue;
    Found found = look_at(*address, process, true, directory_patience);
    if (found.connection && found.belief == Belief::kBelieved) return found;
    is_full = is_full || found.is_full;
  }
  const auto address = endpoint::address_of_process(process);
  Found found = address ? look_at(*address, process, false, abstract_patience) : Found{};
  if (found.connection && found.belief == Belief::kBelieved) return found;
  found.is_full = is_full;  // at the abstract name anyone may let a queue fill
  return found;
}

base::Error nobody_records(const endpoint::ProcessName& name) {
  const pid_t process = name.pid;
  if (!name.machine.empty()) {
    return base::make_error(
        "{} is not being recorded on this machine: record it with `heaptap attach -H {} {}`, then try again",
        endpoint::to_text(name), name.machine, process);
  }
  if (!base::exists(fmt::format("/proc/{}", process))) {
    return base::make_error("no process {}: `pgrep -n NAME` finds a program's PID", process);
  }
  return base::make_error(
      "process {} is not being recorded: start it with `heaptap run PROGRAM`, or record it with `heaptap attach {}`, "
      "then try again",
      process, process);
}

}  // namespace

// The kernel waits for it (unix(7), SO_SNDTIMEO in socket(7)) if the listener's queue is full.
base::UniqueFd connect_in_time(const endpoint::Address& address, milliseconds wait_budget) {
  base::UniqueFd socket = endpoint::make_socket();
  if (!socket) return socket;
  bool is_connected = endpoint::connect_to(socket.get(), address);
  if (!is_connected && errno != EAGAIN) return {};
  (void)fcntl(socket.get(), F_SETFL, 0);
  if (!is_connected && wait_budget.count() > 0) {
    const timeval limit{.tv_sec = wait_budget.count() / 1000, .tv_usec = wait_budget.count() % 1000 * 1000};
    (void)setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    is_connected = endpoint::connect_to(socket.get(), address);
    const timeval none{};
    const int error = errno;
    (void)setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &none, sizeof(none));
    errno = error;
  }
  return is_connected ? std::move(socket) : base::UniqueFd();
}

Belief judge(const Listener& listener, uid_t asker) {
  if (!listener.user) return Belief::kNone;
  const bool is_own_or_root = *listener.user == asker || *listener.user == 0;
  if (!is_own_or_root) return listener.is_of_process ? Belief::kAnotherUser : Belief::kNone;
  const bool is_proven = listener.is_in_own_directory || listener.is_of_process || listener.is_heaptap;
  return is_proven ? Belief::kBelieved : Belief::kNone;
}

bool is_above(pid_t candidate, pid_t process, const std::function<std::optional<Parents>(pid_t)>& parents_of) {
  constexpr size_t kMaxProcesses = 256;  // answers come one by one and may form a cycle
  std::vector<pid_t> looked_at{process};
  for (size_t next = 0; next < looked_at.size() && looked_at.size() < kMaxProcesses; ++next) {
    const auto parents = parents_of(looked_at[next]);
    if (!parents) continue;
    for (const pid_t each : {parents->tracer, parents->parent}) {
      if (each <= 0) continue;
      if (each == candidate) return true;
      if (std::ranges::find(looked_at, each) == looked_at.end()) looked_at.push_back(each);
    }
  }
  return false;
}

base::Result<base::UniqueFd> connect_to_recorder(const endpoint::ProcessName& process) {
  if (!endpoint::address_of_process(process))
    return base::fail("{}: too long for the name of a socket", endpoint::to_text(process));
  Found found = look_for_recorder(process, kDirectoryPatience, kAbstractPatience);
  if (!found.connection && found.is_full) {
    return base::fail("the heaptap that records {} doesn't answer: is it stopped?", endpoint::to_text(process));
  }
  if (!found.connection) return std::unexpected(nobody_records(process));
  switch (found.belief) {
    case Belief::kBelieved:
      return std::move(found.connection);
    case Belief::kAnotherUser:
      return base::fail("{} is recorded by another user ({}): run this as that user", endpoint::to_text(process),
                        *found.peer.user);
    case Belief::kNone:
      break;
  }
  return base::fail("{} (process {} of user {} listens under its name, and is not trusted)",
                    nobody_records(process).message, found.peer.process,
                    found.peer.user.value_or(static_cast<uid_t>(-1)));
}

bool has_listener(const endpoint::ProcessName& process) {
  const Found found = look_for_recorder(process, {}, {});
  return found.connection || found.is_full;
}

std::optional<Reached> reach_recorder(const endpoint::ProcessName& process) {
  Found found = look_for_recorder(process, {}, {});
  if (found.is_full) return Reached{};
  const bool serves = found.connection && found.belief == Belief::kBelieved && found.peer.user == geteuid();
  if (!serves) return std::nullopt;
  return Reached{.recorder = found.peer.process, .connection = std::move(found.connection)};
}

std::vector<endpoint::ProcessName> processes_with_socket() {
  std::vector<endpoint::ProcessName> found;
  for (const std::string& path : endpoint::own_directories()) {
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(path.c_str()), closedir);
    if (!directory) continue;
    while (const dirent* const entry =
               readdir(directory.get())) {  // NOLINT(concurrency-mt-unsafe): the stream is this thread's
      if (auto process = endpoint::process_of_file_name(entry->d_name)) found.push_back(*std::move(process));
    }
  }
  // proc(5), /proc/net/unix: a line ends with the name; an abstract one begins with an @.
  for (const std::string& line : base::split(base::read_small_file("/proc/net/unix"), '\n')) {
    const size_t at = line.find(" @");
    if (at == std::string::npos) continue;
    if (auto process = endpoint::process_of_abstract_name(std::string_view(line).substr(at + 1))) {
      found.push_back(*std::move(process));
    }
  }
  // Connections have lines, too.
  std::ranges::sort(found);
  const auto repeated = std::ranges::unique(found);
  found.erase(repeated.begin(), repeated.end());
  return found;
}

}  // namespace heaptap::client
