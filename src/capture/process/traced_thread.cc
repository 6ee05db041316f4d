#include "capture/process/traced_thread.h"

#include <sys/ptrace.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstddef>

#include "common/arch/cpu.h"
#include "common/base/wait_status.h"

namespace heaptap::process {

int TracedThread::seize() const { return ptrace(PTRACE_SEIZE, thread_, nullptr, nullptr) == 0 ? 0 : errno; }

void TracedThread::interrupt() {
  if (ptrace(PTRACE_INTERRUPT, thread_, nullptr, nullptr) != 0 && errno == ESRCH) state_ = State::kGone;
}

TracedThread::State TracedThread::poll() {
  if (state_ != State::kRunning) return state_;
  siginfo_t event{};
  // A process's exit status belongs to its parent, which may be this process: only non-leader threads are reaped.
  const int wanted = WSTOPPED | WNOHANG | __WALL | __WNOTHREAD | (is_leader_ ? 0 : WEXITED);
  if (waitid(P_PID, static_cast<id_t>(thread_), &event, wanted) != 0) {
    if (errno == ECHILD) state_ = State::kGone;
    return state_;
  }
  if (event.si_pid == 0) return state_;
  if (event.si_code != CLD_TRAPPED && event.si_code != CLD_STOPPED) {
    state_ = State::kGone;
    return state_;
  }
  state_ = State::kStopped;
  const auto stop = base::WaitStatus::of_stop(event.si_status);
  if (stop.event() == PTRACE_EVENT_STOP) {
    group_stopped_ = stop.stop_signal() != SIGTRAP;
  } else if (stop.event() == 0) {
    signal_ = stop.stop_signal();
  }
  return state_;
}

bool TracedThread::read_registers(StoppedThread& result) {
  arch::RegisterImage registers;
  if (!process::read_registers(thread_, registers)) {
    state_ = State::kRunning;
    return false;
  }
  cpu_ = arch::cpu_of_registers(registers);
  if (cpu_ == nullptr) return true;
  if (!group_stopped_ && cpu_->restart_interrupted_call(registers)) {
    process::write_registers(thread_, registers);
  }
  return read_stopped_thread(thread_, *cpu_, result);
}

bool TracedThread::tell_calls_from_signals() const {
  return ptrace(PTRACE_SETOPTIONS, thread_, nullptr, reinterpret_cast<void*>(uintptr_t{PTRACE_O_TRACESYSGOOD})) == 0;
}

void TracedThread::go_on_into_stop(int signal) {
  interrupt();
  ptrace(PTRACE_CONT, thread_, nullptr, reinterpret_cast<void*>(static_cast<long>(signal)));
  if (state_ == State::kStopped) state_ = State::kRunning;
}

void TracedThread::detach() {
  if (state_ != State::kStopped) return;
  ptrace(PTRACE_DETACH, thread_, nullptr, reinterpret_cast<void*>(static_cast<long>(signal_)));
  state_ = State::kGone;
}

}  // namespace heaptap::process
