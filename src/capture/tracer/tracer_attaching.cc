// Attaching to running processes and to new children, and the start of a recording.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "capture/process/process_status.h"
#include "capture/process/ptrace_refusal.h"
#include "capture/tracer/tracer.h"
#include "common/base/sizes.h"

namespace heaptap::tracer {
namespace {

constexpr std::chrono::seconds kLongestMaking{2};

}  // namespace

void Tracer::attach(pid_t process) {
  if (const TracedProcess* known = find_process(process)) {
    // Created in the meantime by another attached one.
    if (known->was_recorded && known->phase == Phase::kTraced) tell(PacketKind::kAttached, process);
    if (!known->was_recorded) {
      tell(PacketKind::kNotAttached, process, base::make_error("process {} is being traced already", process));
    }
    return;
  }
  const base::Result<> attached = try_to_attach(process);
  if (attached) return;
  if (TracedProcess* known = find_process(process)) {
    known->was_recorded = false;
    leave(*known, Left::Reason::kFailed);
  }
  tell(PacketKind::kNotAttached, process, attached.error());
}

// Threads keep running. One that isn't seized yet may create others, so the list is read until it has no new one.
base::Result<> Tracer::try_to_attach(pid_t process) {
  const auto status = process::read_thread_status(process);
  if (!status) return base::fail("no process {}", process);
  if (status->process != process) {
    return base::fail("{} is a thread of process {}: give the PID of the process", process, status->process);
  }
  if (process::find_live_thread(process) == 0) return base::fail("process {} has ended already", process);
  TracedProcess& added = add_process(process, 0, Phase::kWaitsForLog);
  HEAPTAP_TRY(seize_threads(added));
  if (threads_of(added).empty()) return base::fail("process {} has ended", process);
  // The first thread found may have exited; the leader, if alive, doesn't exit that soon.
  want_log(added, LogWanted::Reason::kAttach, process::find_live_thread(process));
  if (find_process(process) == &added) stop_clone_parents(added);
  return {};
}

// Threads keep running. One that isn't seized yet may create others, so the list is read until it has no new one.
base::Result<> Tracer::seize_threads(TracedProcess& process) {
  bool found = true;
  while (found) {
    found = false;
    for (const pid_t id : process::list_threads(process.id)) {
      if (threads_.contains(id) || early_.contains(id)) continue;
      const int reason = Tracee::seize(id, options_.scan_at_end);
      if (reason == 0) {
        add_thread(id, process).may_be_making = true;
        found = true;
        continue;
      }
      const auto thread = process::read_thread_status(id);
      const bool is_exiting = !thread || thread->has_ended();
      if (is_exiting || thread->tracer == getpid()) continue;  // the second error: a seized one created it just now
      return std::unexpected(process::ptrace_refusal(process.id, id, reason));
    }
  }
  return {};
}

// Threads created by a traced thread are traced. A running thread may have started one before it was seized: it has
// finished that when it stops.
void Tracer::stop_clone_parents(TracedProcess& process) {
  for (Tracee* thread : threads_of(process)) {
    if (!thread->may_be_making || thread->was_asked) continue;
    thread->may_be_making = is_making(*thread);
    thread->was_asked = thread->may_be_making;
    if (thread->was_asked) thread->interrupt();
  }
}

void Tracer::give_log(Packet& packet) {
  TracedProcess* process = find_process(packet.header.process);
  void* memory = MAP_FAILED;
  const size_t bytes = base::as_size(packet.header.value).value_or(0);
  if (packet.descriptor && bytes > 0) {
    memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, packet.descriptor.get(), 0);
  }
  packet.descriptor.reset();
  if (memory == MAP_FAILED) return refuse_log(packet.header.process);
  auto log = LogWriter::create(static_cast<wire::LogHeader*>(memory), bytes);
  if (process == nullptr || process->phase != Phase::kWaitsForLog || log == nullptr) {
    return refuse_log(packet.header.process);
  }
  process->log = std::move(log);
  process->log_given_at = TracedProcess::Clock::now();
  begin_when_all_are_seized(*process);
}

// Breakpoints are inserted when all threads that could hit one are known.
void Tracer::begin_when_all_are_seized(TracedProcess& process) {
  const bool is_attached = process.reason == LogWanted::Reason::kAttach;
  while (is_attached) {
    adapt_ticks();
    const std::vector<Tracee*> threads = threads_of(process);
    const auto clone_parent = std::ranges::find_if(threads, [this](Tracee* thread) {
      return thread->may_be_making && !thread->has_ended() && is_making(*thread);
    });
    if (clone_parent != threads.end()) {
      if (TracedProcess::Clock::now() - process.log_given_at < kLongestMaking) return;
      return give_up_attaching(
          process, base::make_error("its thread {} doesn't stop, and may be starting another one: try again",
                                    (*clone_parent)->id()));
    }
    const base::Result<> seized = seize_threads(process);
    if (!seized) return give_up_attaching(process, seized.error());
    if (threads_of(process).size() == threads.size()) break;
    stop_clone_parents(process);
  }
  if (is_attached && awaits_trap_action(process)) return;
  if (is_attached) attach_vfork_children(process);
  begin(process);
}

void Tracer::look_after_attached() {
  std::vector<pid_t> waiting;
  for (const auto& [id, process] : processes_) {
    if (process->log != nullptr) waiting.push_back(id);
  }
  for (const pid_t id : waiting) {
    if (TracedProcess* process = find_process(id)) begin_when_all_are_seized(*process);
  }
}

void Tracer::give_up_attaching(TracedProcess& process, const base::Error& error) {
  const pid_t id = process.id;
  process.was_recorded = false;
  leave(process, Left::Reason::kFailed);
  tell(PacketKind::kNotAttached, id, base::make_error("process {} can't be traced: {}", id, error.message));
}

void Tracer::begin(TracedProcess& process) {
  process.phase = Phase::kTraced;
  // Breakpoints come one after the other, and what is under way has none behind it that tells what it is: that holds for one
  // call of each thread, since then it waits until all breakpoints are there.
  if (process.reason == LogWanted::Reason::kAttach) {
    for (Tracee* thread : threads_of(process)) {
      thread->may_be_in_call = true;
      thread->read_trap_mask();
    }
  }
  process.space->start(std::move(process.log));
  adapt_ticks();
  for (const auto& [id, other] : processes_) {
    if (other->is_vfork_child && other->space == process.space) other->phase = Phase::kTraced;
  }
  tell(PacketKind::kAttached, process.id);
  tell_notes(process);
  for (Tracee* thread : threads_of(process)) {
    if (thread->stopped) resume(*thread);
  }
}

void Tracer::attach_before_exec(pid_t process) {
  const int reason = Tracee::seize(process, options_.scan_at_end);
  if (reason != 0) return tell(PacketKind::kNotReady, process, process::ptrace_refusal(process, process, reason));
  add_thread(process, add_process(process, getppid(), Phase::kBeforeExec));
  tell(PacketKind::kReady, process);
}

}  // namespace heaptap::tracer
