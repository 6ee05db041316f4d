#include "capture/inject/remote_thread.h"

#include <sched.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <utility>
#include <vector>

#include "capture/inject/registers.h"
#include "capture/process/process_status.h"
#include "capture/process/thread_state.h"
#include "capture/tracer/trap_signal.h"
#include "common/arch/cpu.h"
#include "common/arch/native.h"
#include "common/base/wait_status.h"

namespace heaptap::inject {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kStopPatience{2};

using tracer::signal_bit;
// Faults of what it runs for the injector are seen, and are never the program's.
constexpr uint64_t kFaults = signal_bit(SIGTRAP) | signal_bit(SIGSEGV) | signal_bit(SIGBUS) | signal_bit(SIGILL) |
                             signal_bit(SIGFPE) | signal_bit(SIGSYS);

// SIGCHLD, which the kernel sends for each stop of a traced thread. Another thread of this process may take one of them.
class ChildSignal {
 public:
  ChildSignal() {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  ~ChildSignal() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  ChildSignal(const ChildSignal&) = delete;
  ChildSignal& operator=(const ChildSignal&) = delete;

  void await() const {
    constexpr timespec kLongest{0, 1'000'000};
    sigtimedwait(&signal_, nullptr, &kLongest);
  }

 private:
  sigset_t signal_{};
  sigset_t before_{};
};

}  // namespace

struct RemoteThread::State {
  pid_t thread;
  const ReturnCode& code;
  const MemoryFile& memory;
  InterruptedThread before = {};
  ReturnFrame frame = {};
  std::vector<uint8_t> under_frame = {};  // what the frame has taken the place of
  int stop_signal = 0;                    // of a process that was stopped already
  bool is_gone = false;
  ChildSignal child_signal = {};

  // None: it is gone, or doesn't stop in time.
  std::optional<base::WaitStatus> next_stop() {
    const auto until = Clock::now() + kStopPatience;
    while (Clock::now() < until) {
      const auto status = base::wait_for(thread, __WALL | WNOHANG);
      if (status && status->has_stopped()) return status;
      if (status || !process::read_thread_status(thread)) break;
      child_signal.await();
    }
    is_gone = true;
    return std::nullopt;
  }

  // To a stop that PTRACE_INTERRUPT asks for, from which the kernel resumes a system call as if there had been none.
  bool stop(bool is_stopped) {
    if (ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr) != 0) return false;
    if (is_stopped) ptrace(PTRACE_CONT, thread, nullptr, nullptr);
    while (const auto status = next_stop()) {
      if (status->event() == PTRACE_EVENT_STOP) {
        stop_signal = status->stop_signal() == SIGTRAP ? 0 : status->stop_signal();
        return true;
      }
      const int signal = status->event() != 0 ? 0 : status->stop_signal();
      ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);  // any other stop has cancelled the first
      ptrace(PTRACE_CONT, thread, nullptr, static_cast<long>(signal));
    }
    return false;
  }

  // What it is, in that stop.
  bool read_thread() {
    if (!process::read_registers(thread, before.registers)) return false;
    const arch::Cpu* const cpu = arch::cpu_of_registers(before.registers);
    if (cpu == nullptr || cpu->architecture() != arch::native::kArchitecture) return false;
    before.vectors.resize(arch::native::kVectorImageBytes);
    iovec vectors{before.vectors.data(), before.vectors.size()};
    const bool is_read = ptrace(PTRACE_GETSIGMASK, thread, sizeof(before.mask), &before.mask) == 0 &&
                         ptrace(PTRACE_GETREGSET, thread, arch::native::kVectorRegisterSet, &vectors) == 0;
    before.vectors.resize(is_read ? vectors.iov_len : 0);
    // At once: should this process be killed before there is a frame, the call is repeated as well.
    if (is_read && cpu->restart_interrupted_call(before.registers)) process::write_registers(thread, before.registers);
    return is_read;
  }

  bool write_frame() {
    auto made = make_return_frame(before, process::read_memory_map(thread), code);
    if (!made) return false;
    under_frame.resize(made->bytes.size());
    if (!memory.read(made->place, under_frame.data(), under_frame.size())) return false;
    frame = *std::move(made);
    return memory.write(frame.place, frame.bytes.data(), frame.bytes.size());
  }

  // From here on it returns by its frame, whenever it runs without a tracer.
  bool set_to_return() const {
    return process::write_registers(thread, registers_to_return(before.registers, frame, code));
  }

  void set_mask(uint64_t value) const { ptrace(PTRACE_SETSIGMASK, thread, sizeof(value), &value); }

  bool go_to_call_stop() {
    while (ptrace(PTRACE_SYSCALL, thread, nullptr, nullptr) == 0) {
      const auto status = next_stop();
      if (!status) return false;
      if (status->is_in_system_call()) return true;
      if (status->event() == 0) return false;  // a fault
    }
    return false;
  }

  // Lets it run until there is a result. None: it has failed, or takes too long.
  std::optional<uint64_t> await(const std::function<std::optional<uint64_t>()>& read_result) {
    ptrace(PTRACE_CONT, thread, nullptr, nullptr);
    const auto until = Clock::now() + kStopPatience;
    while (Clock::now() < until) {
      if (const auto result = read_result()) return result;
      const auto status = base::wait_for(thread, __WALL | WNOHANG);
      is_gone = status && !status->has_stopped();
      if (status && (is_gone || status->event() == 0)) break;
      if (status) ptrace(PTRACE_CONT, thread, nullptr, nullptr);  // a stop of the whole process
      sched_yield();
    }
    return std::nullopt;
  }

  // Back to where it was, in a stop from which its system call is resumed. The registers last: up to then it returns by its frame.
  void restore() {
    if (is_gone || !stop(true)) return;
    set_mask(before.mask);
    process::write_registers(thread, before.registers);
    memory.write(frame.place, under_frame.data(), under_frame.size());
  }
};

RemoteThread::RemoteThread(std::unique_ptr<State> state) : state_(std::move(state)) {}
RemoteThread::RemoteThread(RemoteThread&&) noexcept = default;

base::Result<RemoteThread> RemoteThread::stop(pid_t thread, const ReturnCode& code, const MemoryFile& memory) {
  std::unique_ptr<State> state(new State{.thread = thread, .code = code, .memory = memory});
  if (!state->stop(false)) return base::fail("thread {} can't be stopped", thread);
  auto borrowed = borrow(std::move(state));
  if (!borrowed) ptrace(PTRACE_DETACH, thread, nullptr, nullptr);
  return borrowed;
}

base::Result<RemoteThread> RemoteThread::of_stopped(pid_t thread, const ReturnCode& code, const MemoryFile& memory) {
  return borrow(std::unique_ptr<State>(new State{.thread = thread, .code = code, .memory = memory}));
}

base::Result<RemoteThread> RemoteThread::borrow(std::unique_ptr<State> state) {
  if (!state->read_thread() || !state->write_frame())
    return base::fail("the stack of thread {} has no room", state->thread);
  if (!state->set_to_return()) return base::fail("thread {} is gone", state->thread);
  state->set_mask(~kFaults);
  return RemoteThread(std::move(state));
}

void RemoteThread::leave_stopped() && { std::exchange(state_, nullptr)->restore(); }

RemoteThread::~RemoteThread() {
  if (!state_) return;
  state_->restore();
  if (state_->is_gone) return;
  const bool is_group_stop = state_->stop_signal != 0;
  ptrace(is_group_stop ? PTRACE_LISTEN : PTRACE_CONT, state_->thread, nullptr, nullptr);
}

std::optional<int64_t> RemoteThread::call(uint64_t number, const std::array<uint64_t, 6>& arguments) {
  State& state = *state_;
  arch::RegisterImage registers = state.before.registers;
  set_call(registers, state.code.call.begin, state.frame.place, number, arguments);
  if (state.is_gone || !process::write_registers(state.thread, registers)) return std::nullopt;
  if (!state.go_to_call_stop() || !state.go_to_call_stop()) return std::nullopt;
  if (!process::read_registers(state.thread, registers)) return std::nullopt;
  return static_cast<int64_t>(result_of(registers));
}

std::optional<uint64_t> RemoteThread::run(base::AddressRange function, uint64_t stack_top,
                                          const std::function<std::optional<uint64_t>()>& read_result) {
  State& state = *state_;
  arch::RegisterImage registers = state.before.registers;
  set_function(registers, function.begin, stack_top, state.frame.place);
  if (state.is_gone || !process::write_registers(state.thread, registers)) return std::nullopt;
  const auto result = state.await(read_result);
  if (!result || !state.stop(false) || !process::read_registers(state.thread, registers)) return result;
  if (function.contains(arch::cpu_of(arch::native::kArchitecture)->program_counter(registers))) {
    state.set_to_return();
  } else {
    state.is_gone = true;
  }
  return result;
}

}  // namespace heaptap::inject
