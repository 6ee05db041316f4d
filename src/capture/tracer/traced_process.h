// State of one traced process in the tracer.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <memory>
#include <optional>

#include "capture/process/thread_state.h"
#include "capture/tracer/address_space.h"
#include "capture/tracer/tracee.h"
#include "capture/tracer/tracer_client.h"

namespace heaptap::tracer {

enum class Phase : uint8_t {
  kBeforeExec,   // runs our code, until it executes the program
  kWaitsForLog,  // stopped, unless it was running already
  kTraced,
  kLeaving,  // breakpoints are removed; threads are detached as they stop
};

class TracedProcess {
 public:
  TracedProcess(pid_t process, pid_t its_parent, Phase begin) : id(process), parent(its_parent), phase(begin) {}

  const pid_t id;
  const pid_t parent;
  Phase phase;
  LogWanted::Reason reason = LogWanted::Reason::kStart;
  std::shared_ptr<AddressSpace> space;  // null: not known yet
  std::unique_ptr<LogWriter> log;       // received, but some thread may be making another one unseen
  std::chrono::steady_clock::time_point log_given_at{};
  bool is_vfork_child = false;  // in its parent's address space, without a log of its own (vfork)
  bool begins_as_copy = false;  // copy made by a fork, before its first stop
  bool had_threads = false;     // besides the first one
  bool was_recorded = false;    // it had a log: its leaving is reported to heaptap
  bool is_handed_over = false;  // to another tracer, which takes all threads
  Left::Reason left_reason = Left::Reason::kDetached;
  uint64_t stops = 0;
  // Time in which a thread was stopped until the tracer resumed it, without leak scans; and when heaptap was last told.
  std::chrono::nanoseconds paused{};
  std::chrono::steady_clock::time_point pauses_told_at{};
  uint64_t seconds_forgiven = 0;  // processor time beyond its limit, consumed by stops

  TrapAction trap_action;
  // A thread about to get a SIGTRAP of the program: until it has it, threads that block the signal are held, since
  // their breakpoints would remove the handler.
  pid_t trap_receiver = 0;  // 0: none
  std::chrono::steady_clock::time_point
      handler_asked_at{};  // when a thread was stopped to read the handler; none: not yet

  // Its end.
  std::optional<wire::ExitNotice> exit_call;
  process::StoppedThread exit_caller;  // as it called exit
  Tracee* ending = nullptr;            // waits until its memory has been scanned
  Tracee* next_ending = nullptr;       // waits for the end of that scan, since it ends the process with `next_end`
  wire::ExitNotice next_end{};
  wire::ExitKind exit_kind{};
  bool end_was_told = false;
  // Threads that ended in quick succession, and the last time; perhaps killed.
  unsigned ended_threads = 0;
  std::chrono::steady_clock::time_point thread_ended_at{};

  // A leak scan.
  using Clock = std::chrono::steady_clock;
  bool is_held = false;
  bool is_stopping = false;  // held, with threads still to stop
  Clock::time_point asked_at{};

  // Whether it is stopped until heaptap answers. During a scan it is stopped as well, but then must not be disturbed.
  [[nodiscard]] bool awaits_heaptap() const {
    const bool awaits_log = phase == Phase::kWaitsForLog && reason != LogWanted::Reason::kAttach;
    return !is_held && (awaits_log || ending != nullptr);
  }
};

}  // namespace heaptap::tracer
