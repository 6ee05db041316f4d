#include "target/traced_thread.h"

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstddef>

#include "arch/native.h"

namespace heaptap::target {
namespace {

namespace cpu = arch::native;

// The first page is never mapped, the upper half is the kernel's.
bool may_be_address(uint64_t value) { return value >= 4096 && value >> 47 == 0; }

}  // namespace

int TracedThread::seize() const { return ptrace(PTRACE_SEIZE, thread_, nullptr, nullptr) == 0 ? 0 : errno; }

void TracedThread::interrupt() {
  if (ptrace(PTRACE_INTERRUPT, thread_, nullptr, nullptr) != 0 && errno == ESRCH) state_ = State::kGone;
}

TracedThread::State TracedThread::poll() {
  if (state_ != State::kRunning) return state_;
  siginfo_t event{};
  // A process's exit status is its parent's, which may be us: only other threads are reaped.
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
  const int kind = event.si_status >> 8;
  const int signal = event.si_status & 0x7f;
  if (kind == PTRACE_EVENT_STOP) {
    group_stopped_ = signal != SIGTRAP;
  } else if (kind == 0) {
    signal_ = signal;
  }
  return state_;
}

bool TracedThread::read_registers(StoppedThread& result) {
  cpu::UserRegisters registers{};
  iovec place{&registers, sizeof(registers)};
  if (ptrace(PTRACE_GETREGSET, thread_, reinterpret_cast<void*>(NT_PRSTATUS), &place) != 0) {
    state_ = State::kRunning;
    return false;
  }
  runs_other_code_ = !cpu::runs_native_code(registers);
  if (!group_stopped_ && cpu::was_interrupted(registers)) {
    ptrace(PTRACE_POKEUSER, thread_, cpu::kUserResult * sizeof(uint64_t), cpu::kRestartUnlessHandled);
  }
  result.thread_id = static_cast<uint32_t>(thread_);
  result.registers_known = true;
  result.stack_pointer = registers.words[cpu::kUserStackPointer];
  result.program_counter = registers.words[cpu::kUserProgramCounter];
  result.frame_pointer = registers.words[cpu::kUserFramePointer];
  result.thread_pointer = registers.words[cpu::kUserThreadPointer];
  for (const cpu::GeneralRegister& known : cpu::kGeneralRegisters) {
    const uint64_t value = registers.words[known.index];
    if (may_be_address(value)) result.registers.push_back({value, result.thread_id, known.dwarf});
  }
  read_vector_registers(result);
  return true;
}

void TracedThread::read_vector_registers(StoppedThread& result) const {
  alignas(64) uint8_t image[cpu::kVectorImageBytes];
  iovec place{image, sizeof(image)};
  if (ptrace(PTRACE_GETREGSET, thread_, reinterpret_cast<void*>(uintptr_t{cpu::kVectorRegisterSet}), &place) != 0)
    return;
  cpu::each_vector_word<uint64_t>(image, place.iov_len, [&](const cpu::VectorWord& word) {
    const unsigned number = word.index < 16 ? 17 + word.index : 67 - 16 + word.index;
    if (may_be_address(word.value)) {
      result.registers.push_back({word.value, result.thread_id, static_cast<uint16_t>(number)});
    }
  });
}

void TracedThread::detach() {
  if (state_ != State::kStopped) return;
  ptrace(PTRACE_DETACH, thread_, nullptr, reinterpret_cast<void*>(static_cast<long>(signal_)));
  state_ = State::kGone;
}

}  // namespace heaptap::target
