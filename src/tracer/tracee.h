// One thread that the tracer holds by ptrace: what is asked of the kernel about it, and what is remembered of it. All calls
// come from the tracer's one thread.
#pragma once
#include <sys/types.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <memory>
#include <optional>

#include "arch/cpu.h"
#include "base/address_range.h"
#include "tracer/call_walk.h"
#include "tracer/log_writer.h"
#include "tracer/pending_calls.h"
#include "tracer/spoken_names.h"
#include "tracer/trap_signal.h"

namespace heaptap::tracer {

class TracedProcess;

// What a thread has asked of heaptap, by a function that it stands at the end of. It waits for the answer.
struct Question {
  Spoken asked = Spoken::kNone;  // kNone: it asks nothing
  uint64_t number = 0;
  uint64_t argument = 0;
  std::chrono::steady_clock::time_point since{};
};

// A function's entry whose first instruction faulted: where a handler repairs the reason it is executed again.
struct FaultingEntry {
  uint64_t address = 0;  // 0: none
  uint64_t stack_pointer = 0;
  std::array<uint64_t, 4> arguments{};
  bool operator==(const FaultingEntry&) const = default;
};

class Tracee {
 public:
  Tracee(pid_t id, TracedProcess& process) : id_(id), process_(&process) {}

  // 0 or errno, a number by which the caller decides. The thread runs on, and whatever it makes is traced as well.
  // `stops_at_end`: it does, with its memory and its registers as they were.
  static int seize(pid_t id, bool stops_at_end);

  [[nodiscard]] pid_t id() const { return id_; }
  [[nodiscard]] TracedProcess& process() const { return *process_; }

  // Of a thread that is stopped. False: it is gone.
  bool read_registers(arch::RegisterImage& registers) const;
  bool write_registers(const arch::RegisterImage& registers) const;
  // With the signal that it was about to get; until its next system call if the end of a handler is to be seen.
  void go_on();
  void stay_stopped();  // as the stop signal wants it that it was sent
  void interrupt() const;
  void detach();

  // A breakpoint in a thread that blocks SIGTRAP makes the kernel unblock it: blocks it again. `was_sent`: the signal of that stop is
  // one that a program has sent, and that waits until the thread unblocks it.
  void restore_signal_mask(bool was_sent);
  [[nodiscard]] std::optional<uint64_t> signal_mask() const;
  void set_signal_mask(uint64_t mask) const;
  // Of one that has met a breakpoint just now, maybe: whether it blocked SIGTRAP before.
  [[nodiscard]] bool blocked_trap() const;
  // As /proc tells it, of a thread that may run.
  void read_trap_mask();
  void inherit_trap_mask(const Tracee& maker) {
    trap_mask = maker.trap_mask;
    trap_mask.is_seen = false;
  }
  // A leader that has ended while other threads live.
  [[nodiscard]] bool has_ended() const;
  // It is about to be ended by what another thread did.
  [[nodiscard]] bool is_being_killed() const;
  // Of a thread that stopped at its end: whether that comes without a signal.
  [[nodiscard]] bool ends_by_itself() const;
  // The system call that it waits in; -1: it waits, in none. None: it runs.
  [[nodiscard]] std::optional<int64_t> waits_in() const;
  // Whether it waits in a system call: then no breakpoint has been hit that wasn't told.
  [[nodiscard]] bool waits_in_kernel() const;
  [[nodiscard]] bool has_pending_trap() const;
  // Whether this signal, if it gets it now, ends the process.
  [[nodiscard]] bool would_end_by(int signal) const;
  [[nodiscard]] bool has_handler(int signal) const;
  [[nodiscard]] bool ignores(int signal) const;
  [[nodiscard]] int last_processor() const;

  bool stopped = false;
  bool is_new = false;          // made by another one; its first stop is to come
  bool may_be_making = false;   // it may have been in a system call that makes threads when it was seized, and still be
  bool may_be_in_call = false;  // of a watched function, whose beginning came before the breakpoints
  bool was_asked = false;       // to stop, only to see where it stands
  bool tells_action = false;    // it was asked to stop, so that SIGTRAP's action is learned
  bool is_in_call_stop = false;  // in a system call, which goes on from there
  bool group_stopped = false;    // by SIGSTOP and the like
  bool at_end = false;           // it has come to its own end, with its memory and its registers as they were
  bool left_in_kernel = false;   // detached as soon as it comes out of a system call, or the tracer ends
  int signal = 0;                // that it was about to get
  uint64_t met_address =
      0;  // of the breakpoint that it stands behind: the instruction there is still to be executed; 0: none
  uint64_t bare_address = 0;  // where a breakpoint was taken out until its next stop, so that it faults there; 0: none

  FaultingEntry faulting;
  Question question;

  // It stops at system calls while a handler runs that interrupted a watched call: so its end is seen. So many more of them:
  // one that was left by a jump doesn't end.
  unsigned system_calls_left = 0;
  // The signal that tells of a fault, or of abort, whose handler may be running; 0: none.
  int handled_fault = 0;

  TrapMask trap_mask;
  // A SIGTRAP of the program's that is to come once more, as it was, after something was done for it; and the mask that it finds then.
  struct Replay {
    siginfo_t reason;
    uint64_t mask;
    bool is_sent;   // again; before, others are waited for
    bool is_given;  // to the program
  };
  std::optional<Replay> replay;

  base::AddressRange alternate_stack;  // of its signal handlers; empty: none is known

  PendingCalls calls;
  wire::LogStream* stream = nullptr;
  uint32_t tag = 0;          // the innermost one that it is under: its label's number in the log
  unsigned unkept_tags = 0;  // inside of that, for which there was no room
  std::unique_ptr<LastStack, void (*)(LastStack*)> last_stack{nullptr, nullptr};

 private:
  pid_t id_;
  TracedProcess* process_;
};

}  // namespace heaptap::tracer
