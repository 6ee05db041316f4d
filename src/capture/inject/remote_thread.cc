#include "capture/inject/remote_thread.h"

#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <utility>

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

}  // namespace

struct RemoteThread::State {
  pid_t thread = 0;
  uint64_t instruction = 0;
  arch::RegisterImage registers;
  uint64_t mask = 0;
  int stop_signal = 0;  // of a process that was stopped already
  bool is_gone = false;

  // None: it is gone, or doesn't stop in time.
  std::optional<base::WaitStatus> next_stop() {
    const auto until = Clock::now() + kStopPatience;
    while (Clock::now() < until) {
      const auto status = base::wait_for(thread, __WALL | WNOHANG);
      if (status && status->has_stopped()) return status;
      if (status || !process::read_thread_status(thread)) break;
      usleep(20);
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

  // Back to where it was, in a stop from which its system call is resumed.
  void restore() {
    if (is_gone || !stop(true)) return;
    process::write_registers(thread, registers);
    set_mask(mask);
  }
};

RemoteThread::RemoteThread(std::unique_ptr<State> state) : state_(std::move(state)) {}
RemoteThread::RemoteThread(RemoteThread&&) noexcept = default;

base::Result<RemoteThread> RemoteThread::stop(pid_t thread, uint64_t instruction) {
  auto state = std::make_unique<State>();
  state->thread = thread;
  state->instruction = instruction;
  const auto refused = base::fail("thread {} can't be stopped", thread);
  if (!state->stop(false) || !process::read_registers(thread, state->registers)) return refused;
  const arch::Cpu* const cpu = arch::cpu_of_registers(state->registers);
  const bool is_known = cpu != nullptr && cpu->architecture() == arch::native::kArchitecture &&
                        ptrace(PTRACE_GETSIGMASK, thread, sizeof(state->mask), &state->mask) == 0;
  if (!is_known) {
    ptrace(PTRACE_CONT, thread, nullptr, nullptr);
    return refused;
  }
  cpu->restart_interrupted_call(state->registers);
  state->set_mask(~kFaults);
  return RemoteThread(std::move(state));
}

RemoteThread::~RemoteThread() {
  if (!state_) return;
  state_->restore();
  if (state_->is_gone) return;
  const bool is_group_stop = state_->stop_signal != 0;
  ptrace(is_group_stop ? PTRACE_LISTEN : PTRACE_CONT, state_->thread, nullptr, nullptr);
}

std::optional<int64_t> RemoteThread::call(uint64_t number, const std::array<uint64_t, 6>& arguments) {
  State& state = *state_;
  arch::RegisterImage registers = state.registers;
  set_call(registers, state.instruction, number, arguments);
  if (state.is_gone || !process::write_registers(state.thread, registers)) return std::nullopt;
  if (!state.go_to_call_stop() || !state.go_to_call_stop()) return std::nullopt;
  if (!process::read_registers(state.thread, registers)) return std::nullopt;
  return static_cast<int64_t>(result_of(registers));
}

std::optional<uint64_t> RemoteThread::run(uint64_t function, uint64_t stack_top) {
  State& state = *state_;
  arch::RegisterImage registers = state.registers;
  set_function(registers, function, stack_top);
  if (state.is_gone || !process::write_registers(state.thread, registers)) return std::nullopt;
  while (ptrace(PTRACE_CONT, state.thread, nullptr, nullptr) == 0) {
    const auto status = state.next_stop();
    if (!status) return std::nullopt;
    if (status->event() != 0) continue;
    siginfo_t reason{};
    const bool is_breakpoint = status->stop_signal() == SIGTRAP &&
                               ptrace(PTRACE_GETSIGINFO, state.thread, nullptr, &reason) == 0 &&
                               reason.si_code == SI_KERNEL;
    if (!is_breakpoint || !process::read_registers(state.thread, registers)) return std::nullopt;
    return result_of(registers);
  }
  return std::nullopt;
}

}  // namespace heaptap::inject
