// Injected system calls, made by a stopped thread in place of its program, for state that only the process itself can
// read and set: its signal actions. Afterwards the thread's position, registers, mask and stack are unchanged.
#pragma once
#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "capture/process/traced_memory.h"
#include "common/arch/cpu.h"
#include "common/base/wait_status.h"

namespace heaptap::tracer {

class InjectedCall {
 public:
  static constexpr size_t kRoomBytes = 64;

  // `thread` is stopped, but not in a system call stop. Lives on the caller's stack.
  InjectedCall(pid_t thread, const arch::Cpu& cpu, process::TracedMemory& memory);
  ~InjectedCall();
  InjectedCall(const InjectedCall&) = delete;
  InjectedCall& operator=(const InjectedCall&) = delete;

  // False: the thread can't make calls. It may be under a seccomp filter, which might kill it.
  [[nodiscard]] bool is_possible() const { return instruction_ != 0; }
  // Memory of the program for arguments, kRoomBytes.
  [[nodiscard]] uint64_t room() const { return room_; }
  // The kernel's result. None: the thread is gone; end_status() has its status, if there is one.
  std::optional<int64_t> make(uint64_t number, const std::array<uint64_t, 4>& arguments);

  // Still to be handled.
  [[nodiscard]] std::optional<base::WaitStatus> end_status() const { return end_status_; }
  // The thread is in another stop than before.
  [[nodiscard]] bool has_run() const { return has_run_; }
  // The thread was asked to stop during the call and must be asked again, or got a signal that can't be withheld.
  [[nodiscard]] bool was_interrupted() const { return was_interrupted_; }
  [[nodiscard]] int signal() const { return signal_; }

 private:
  [[nodiscard]] std::optional<base::WaitStatus> next_stop() const;
  bool go_to_call_stop();

  pid_t thread_;
  const arch::Cpu& cpu_;
  process::TracedMemory& memory_;
  arch::RegisterImage registers_;
  uint64_t mask_ = 0;
  uint64_t instruction_ = 0;
  uint64_t room_ = 0;
  std::array<uint8_t, kRoomBytes> before_{};
  std::optional<base::WaitStatus> end_status_;
  bool was_interrupted_ = false;
  bool has_run_ = false;
  int signal_ = 0;
};

}  // namespace heaptap::tracer
