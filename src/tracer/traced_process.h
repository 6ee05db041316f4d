// One traced process: what it is doing, as far as the tracer is concerned.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <memory>
#include <optional>

#include "process/thread_state.h"
#include "tracer/address_space.h"
#include "tracer/tracee.h"
#include "tracer/tracer_client.h"

namespace heaptap::tracer {

enum class Phase : uint8_t {
  kBeforeExec,   // it runs ours, until it executes the program
  kWaitsForLog,  // then it is stopped, if it wasn't running already
  kTraced,
  kLeaving,  // breakpoints are out; threads are detached as they stop
};

class TracedProcess {
 public:
  TracedProcess(pid_t process, pid_t its_parent, Phase begin) : id(process), parent(its_parent), phase(begin) {}

  const pid_t id;
  const pid_t parent;
  Phase phase;
  LogWanted::Reason reason = LogWanted::Reason::kStart;
  std::shared_ptr<AddressSpace> space;  // null: none is known yet
  std::unique_ptr<LogWriter> log;       // was given, but some thread may be making another one unseen
  std::chrono::steady_clock::time_point log_given_at{};
  bool is_vfork_child = false;  // in its parent's address space, without a log of its own (vfork)
  bool begins_as_copy = false;  // of a fork, whose first stop is to come
  bool had_threads = false;     // besides the first
  bool was_recorded = false;    // it had a log: heaptap is told when it leaves
  bool is_handed_over = false;  // to another tracer, which wants all threads
  Left::Reason left_reason = Left::Reason::kDetached;
  uint64_t stops = 0;
  uint64_t seconds_forgiven = 0;  // beyond its limit on processor time, which stops took

  TrapAction trap_action;
  // A thread that gets a SIGTRAP of the program's: until it has it, those that block the signal stand still, since their breakpoints would
  // take the handler away.
  pid_t trap_receiver = 0;                                   // 0: none
  std::chrono::steady_clock::time_point handler_asked_at{};  // when a thread was stopped to learn of it; none: not yet

  // Its end.
  std::optional<wire::ExitNotice> exit_call;
  process::StoppedThread exit_caller;  // as it called exit
  Tracee* ending = nullptr;            // waits until its memory has been looked at
  wire::ExitKind exit_kind{};
  bool end_was_told = false;
  // Threads that ended one soon after the other, and the last time; maybe they were ended.
  unsigned ended_threads = 0;
  std::chrono::steady_clock::time_point thread_ended_at{};

  // A leak scan.
  using Clock = std::chrono::steady_clock;
  bool is_held = false;
  bool is_stopping = false;  // held, but not all threads have stopped
  Clock::time_point asked_at{};

  // Whether it is stopped until heaptap says something. While it is looked at it is, too: but then nobody may interfere.
  [[nodiscard]] bool awaits_heaptap() const {
    const bool awaits_log = phase == Phase::kWaitsForLog && reason != LogWanted::Reason::kAttach;
    return !is_held && (awaits_log || ending != nullptr);
  }
};

}  // namespace heaptap::tracer
