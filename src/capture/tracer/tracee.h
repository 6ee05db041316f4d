// Thread held by the tracer through ptrace: kernel requests for it, and its remembered state. All calls come from the
// tracer's one thread.
#pragma once
#include <sys/types.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <memory>
#include <optional>

#include "capture/tracer/call_walk.h"
#include "capture/tracer/log_writer.h"
#include "capture/tracer/pending_calls.h"
#include "capture/tracer/spoken_names.h"
#include "capture/tracer/trap_signal.h"
#include "common/arch/cpu.h"
#include "common/base/address_range.h"

namespace heaptap::tracer {

class TracedProcess;

// Question of a thread to heaptap, at the end of an API function. The thread waits for the answer.
struct Question {
  ApiCall asked = ApiCall::kNone;  // kNone: no question
  uint64_t number = 0;
  uint64_t argument = 0;
  std::chrono::steady_clock::time_point since{};
};

// Function entry whose first instruction faulted: if a handler repairs the fault, it is executed again.
struct FaultingEntry {
  uint64_t address = 0;  // 0: none
  uint64_t stack_pointer = 0;
  std::array<uint64_t, 4> arguments{};
  bool operator==(const FaultingEntry&) const = default;
};

class Tracee {
 public:
  Tracee(pid_t id, TracedProcess& process) : id_(id), process_(&process) {}

  // 0 or errno, for the caller's decision. The thread continues, and its children are traced as well. `stops_at_end`:
  // it stops at its end, with memory and registers unchanged.
  static int seize(pid_t id, bool stops_at_end);

  [[nodiscard]] pid_t id() const { return id_; }
  [[nodiscard]] TracedProcess& process() const { return *process_; }

  // For a stopped thread. False: it is gone.
  bool read_registers(arch::RegisterImage& registers) const;
  bool write_registers(const arch::RegisterImage& registers) const;
  // Delivers its pending signal; runs until its next system call if the end of a handler must be seen.
  void go_on();
  void stay_stopped();  // as required by the stop signal sent to it
  void interrupt() const;
  void detach();

  // A breakpoint in a thread that blocks SIGTRAP makes the kernel unblock it: blocks it again. `was_sent`: the signal
  // of that stop was sent by a program, and stays pending until the thread unblocks it.
  void restore_signal_mask(bool was_sent);
  [[nodiscard]] std::optional<uint64_t> signal_mask() const;
  void set_signal_mask(uint64_t mask) const;
  // For a thread that may have just hit a breakpoint: whether it blocked SIGTRAP before.
  [[nodiscard]] bool blocked_trap() const;
  // From /proc, for a thread that may be running.
  void read_trap_mask();
  void inherit_trap_mask(const Tracee& maker) {
    trap_mask = maker.trap_mask;
    trap_mask.is_seen = false;
  }
  // Whether it is a leader that has ended while other threads live.
  [[nodiscard]] bool has_ended() const;
  // Whether it is about to be killed by another thread's action.
  [[nodiscard]] bool is_being_killed() const;
  // For a thread that stopped at its end: whether it ends without a signal.
  [[nodiscard]] bool ends_by_itself() const;
  // The system call that it waits in; -1: it waits, but in none. None: it runs.
  [[nodiscard]] std::optional<int64_t> waits_in() const;
  // Whether it waits in a system call: then no unreported breakpoint hit is pending.
  [[nodiscard]] bool waits_in_kernel() const;
  [[nodiscard]] bool has_pending_trap() const;
  // Whether delivering this signal now would end the process.
  [[nodiscard]] bool would_end_by(int signal) const;
  [[nodiscard]] bool has_handler(int signal) const;
  [[nodiscard]] bool ignores(int signal) const;
  [[nodiscard]] int last_processor() const;

  bool stopped = false;
  bool is_new = false;  // created by another thread; before its first stop
  // It may have been in a system call that creates threads when it was seized, and still be.
  bool may_be_making = false;
  bool may_be_in_call = false;     // of a watched function, entered before the breakpoints were planted
  bool was_asked = false;          // to stop, only to find its position
  bool tells_action = false;       // asked to stop, so that SIGTRAP's action is read
  bool is_in_call_stop = false;    // in a system call stop
  bool is_in_signal_stop = false;  // for the delivery of a signal
  bool group_stopped = false;      // by SIGSTOP or similar
  bool at_end = false;             // at its own end, with memory and registers unchanged
  bool left_in_kernel = false;     // to be detached as soon as it leaves a system call, or the tracer ends
  int signal = 0;                  // pending delivery
  // Its stop is the one in which the kernel delivers that signal, with what it knows of it.
  [[nodiscard]] bool delivers() const { return is_in_signal_stop && signal != 0; }
  [[nodiscard]] bool delivers(int number) const { return is_in_signal_stop && signal == number; }
  uint64_t met_address =
      0;  // address of the breakpoint that it has hit: the instruction there is still to be executed; 0: none
  uint64_t bare_address = 0;  // where a breakpoint is removed until its next stop, so that it faults there; 0: none

  FaultingEntry faulting;
  Question question;

  // Number of system call stops left while a handler that interrupted a watched call runs, to see the handler's end:
  // limited, since a handler left by a jump doesn't end.
  unsigned system_calls_left = 0;
  // Signal of a fault, or of abort, whose handler may be running; 0: none.
  int handled_fault = 0;

  // Call of rt_sigaction for SIGTRAP. The thread stops at its system calls from the function's entry until that one's end.
  struct TrapActionCall {
    unsigned stops_left = 0;  // a function left by a jump makes no such call; 0: none
    bool is_entered = false;  // the system call itself
    arch::SignalActionCall call{};
    TrapAction before{};
  };
  TrapActionCall action_call;

  TrapMask trap_mask;
  // SIGTRAP of the program to be delivered once more, unchanged, after some preparation; and the mask for it.
  struct Replay {
    enum class Step : uint8_t {
      kAwaitsOthers,
      kAwaitsCall,  // its system call begins again, for the signal to interrupt it
      kInCall,      // sent again, in that call
      kSent,        // sent again
      kGiven        // delivered to the program
    };
    siginfo_t reason;
    uint64_t mask;
    Step step;
  };
  std::optional<Replay> replay;
  [[nodiscard]] bool replays(Replay::Step step) const { return replay && replay->step == step; }
  [[nodiscard]] bool repeats_call() const {
    return replays(Replay::Step::kAwaitsCall) || replays(Replay::Step::kInCall);
  }

  base::AddressRange alternate_stack;  // for its signal handlers; empty: unknown

  PendingCalls calls;
  wire::LogStream* stream = nullptr;
  uint32_t tag = 0;          // its innermost tag: the label's number in the log
  unsigned unkept_tags = 0;  // tags inside of that for which there was no room
  std::unique_ptr<LastStack, void (*)(LastStack*)> last_stack{nullptr, nullptr};

 private:
  pid_t id_;
  TracedProcess* process_;
};

}  // namespace heaptap::tracer
