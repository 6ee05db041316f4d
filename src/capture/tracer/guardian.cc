#include "capture/tracer/guardian.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <exception>
#include <thread>

#include "capture/tracer/guardian_protection.h"
#include "capture/tracer/tracer.h"

namespace heaptap::tracer {
namespace {

constexpr int kTickMs = 5;
constexpr int kWakeSignal = SIGUSR1;

// A thread that polls the socket, and interrupts the tracer's waiting until it has read the data.
class SocketSignal final : public RequestSignal {
 public:
  explicit SocketSignal(int socket)
      : socket_(socket), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), tracer_(static_cast<pid_t>(gettid())) {
    std::thread([this] { listen(); }).detach();  // ends with the process
  }
  bool rang() override { return rang_.exchange(false, std::memory_order_acquire); }
  void want_ticks(bool want) override {
    ticks_.store(want, std::memory_order_relaxed);
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(wake_, &one, sizeof(one));
  }

 private:
  [[noreturn]] void listen() {
    while (true) {
      pollfd waits[] = {{socket_, POLLIN, 0}, {wake_, POLLIN, 0}};
      const int ready = poll(waits, 2, ticks_.load(std::memory_order_relaxed) ? kTickMs : -1);
      uint64_t count = 0;
      if (waits[1].revents != 0) [[maybe_unused]]
        const ssize_t got = read(wake_, &count, sizeof(count));
      if (ready != 0 && waits[0].revents == 0) continue;
      rang_.store(true, std::memory_order_release);
      // The tracer may be about to wait: the signal is repeated until the socket has been read.
      syscall(SYS_tgkill, getpid(), tracer_, kWakeSignal);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  int socket_;
  int wake_;
  pid_t tracer_;
  std::atomic<bool> rang_{false};
  std::atomic<bool> ticks_{false};
};

}  // namespace

base::Result<pid_t> start_guardian(base::UniqueFd socket, base::UniqueFd& other_socket, const TracerOptions& options) {
  const pid_t child = fork();
  if (child < 0) return base::fail("can't start the tracer: {}", base::reason_of(errno));
  if (child != 0) return child;
  other_socket.reset();
  protect_guardian(kWakeSignal);
  try {
    SocketSignal request_signal(socket.get());
    Tracer(socket.get(), options, request_signal).run();
  } catch (const std::exception&) {
    _exit(1);  // this is a forked copy of heaptap: nothing may return
  }
  // A thread of this process that is blocked in the kernel, for a missing page, may keep the descriptor open.
  shutdown(socket.get(), SHUT_RDWR);
  // Threads blocked in system calls are detached by the kernel, without being stopped.
  _exit(0);
}

}  // namespace heaptap::tracer
