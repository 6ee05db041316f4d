// System calls that a stopped thread makes in the place of its program, for what the kernel tells and takes from the process itself only:
// its signal actions. The thread stands afterwards where it stood, with the registers, the mask and the stack that it had.
#pragma once
#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "arch/cpu.h"
#include "process/traced_memory.h"

namespace heaptap::tracer {

class InjectedCall {
 public:
  static constexpr size_t kRoomBytes = 64;

  // `thread` is stopped, in no system call's own stop. Lives on the stack of who makes calls.
  InjectedCall(pid_t thread, const arch::Cpu& cpu, process::TracedMemory& memory);
  ~InjectedCall();
  InjectedCall(const InjectedCall&) = delete;
  InjectedCall& operator=(const InjectedCall&) = delete;

  // False: the thread can't be made to. It may be under a filter of system calls, which might end it.
  [[nodiscard]] bool is_possible() const { return instruction_ != 0; }
  // Memory of the program's for arguments, of kRoomBytes.
  [[nodiscard]] uint64_t room() const { return room_; }
  // What the kernel answers. None: the thread is gone; then end_status() is what it ended by.
  std::optional<int64_t> make(uint64_t number, const std::array<uint64_t, 4>& arguments);

  // A status of waitpid that is still to be answered.
  [[nodiscard]] std::optional<int> end_status() const { return end_status_; }
  // The thread was asked to stop meanwhile, and has to be asked again; or got a signal that can't be kept from it.
  [[nodiscard]] bool was_interrupted() const { return was_interrupted_; }
  [[nodiscard]] int signal() const { return signal_; }
  // It came out of another system call, which is to start again: to be stopped once more, so that the kernel looks after that.
  [[nodiscard]] bool was_in_call() const { return was_in_call_; }

 private:
  bool go_to_call_stop();

  pid_t thread_;
  const arch::Cpu& cpu_;
  process::TracedMemory& memory_;
  arch::RegisterImage registers_;
  uint64_t mask_ = 0;
  uint64_t instruction_ = 0;
  uint64_t room_ = 0;
  std::array<uint8_t, kRoomBytes> before_{};
  std::optional<int> end_status_;
  bool was_interrupted_ = false;
  bool was_in_call_ = false;
  bool has_run_ = false;
  int signal_ = 0;
};

}  // namespace heaptap::tracer
