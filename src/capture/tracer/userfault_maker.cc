#include "capture/tracer/userfault_maker.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <exception>
#include <string>
#include <utility>

#include "capture/process/freezer.h"
#include "capture/process/open_files.h"
#include "capture/process/process_status.h"
#include "capture/process/thread_stopper.h"
#include "capture/process/traced_memory.h"
#include "capture/tracer/guardian_protection.h"
#include "capture/tracer/injected_call.h"
#include "common/arch/native.h"
#include "common/base/descriptor_message.h"

namespace heaptap::tracer {
namespace {

// Linux include/uapi/linux/userfaultfd.h, since 5.11: no faults of the kernel are handled, so no right is needed.
constexpr uint64_t kUserModeOnly = 1;

// The thread is stopped, with all others of its process.
base::Result<base::UniqueFd> make_in_place_of(const process::TracedThread& thread, pid_t process, int& signal) {
  process::TracedMemory memory(thread.id());
  InjectedCall call(thread.id(), *thread.cpu(), memory);
  if (!call.is_possible()) return base::fail("no system call can be made in its place (it may have a filter, seccomp)");
  const auto made = call.make(SYS_userfaultfd, {O_CLOEXEC | O_NONBLOCK | kUserModeOnly, 0, 0, 0});
  base::UniqueFd userfault;
  int error = made ? static_cast<int>(-*made) : ESRCH;
  if (made && *made >= 0) {
    userfault = process::copy_descriptor(process, static_cast<int>(*made));
    error = userfault ? 0 : errno;
    (void)call.make(SYS_close, {static_cast<uint64_t>(*made), 0, 0, 0});
  }
  signal = call.signal();
  if (error != 0) return base::fail("it can't make a userfaultfd: {}", base::reason_of(error));
  return userfault;
}

base::Result<base::UniqueFd> make_by_stopping(pid_t process) {
  if (process::is_frozen(process)) return base::fail("it is frozen");
  process::ThreadStopper stopper(process, {.all_stopped = std::chrono::milliseconds(1000)});
  HEAPTAP_TRY(stopper.stop_all());
  base::Result<base::UniqueFd> made = base::fail("none of its threads can make a system call");
  process::TracedThread* const thread = stopper.thread_for_calls();
  if (stopper.architecture() != arch::native::kArchitecture) {
    made = base::fail("it is a program of 32 bits");
  } else if (process::has_open(process::find_live_thread(process), "anon_inode:[userfaultfd]")) {
    made = base::fail("it has a userfaultfd of its own");
  } else if (thread != nullptr) {
    int signal = 0;
    made = make_in_place_of(*thread, process, signal);
    (void)stopper.settle(*thread, signal);
  }
  stopper.release();
  return made;
}

[[noreturn]] void make_for(const base::UniqueFd& socket, pid_t process) {
  protect_guardian(SIGUSR1);
  try {
    const auto made = make_by_stopping(process);
    const std::string text = made ? std::string(".") : made.error().message;
    (void)base::send_message(socket.get(), text, made ? made->get() : -1);
  } catch (const std::exception&) {
    _exit(1);  // this is a forked copy of heaptap: nothing may return
  }
  _exit(0);
}

}  // namespace

base::Result<base::UniqueFd> make_userfault_of(pid_t process) {
  constexpr int kLongestMs = 4000;  // a stop takes 1 s at most
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) {
    return base::fail("can't make a socket: {}", base::reason_of(errno));
  }
  const base::UniqueFd own(sockets[0]);
  base::UniqueFd other(sockets[1]);
  const pid_t maker = fork();
  if (maker < 0) return base::fail("can't start a process: {}", base::reason_of(errno));
  if (maker == 0) make_for(other, process);
  other.reset();
  pollfd wait{own.get(), POLLIN, 0};
  if (poll(&wait, 1, kLongestMs) <= 0) return base::fail("process {} didn't stop in time", process);
  std::array<char, 1024> room;
  base::UniqueFd userfault;
  const ssize_t got = base::receive_message(own.get(), room, userfault);
  while (waitpid(maker, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (userfault) return userfault;
  if (got <= 0) return base::fail("the process that stops it failed");
  return base::fail("{}", std::string(room.data(), static_cast<size_t>(got)));
}

}  // namespace heaptap::tracer
