// New threads and processes: created by others, reported or not, or replaced by exec.
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <utility>

#include "capture/process/process_status.h"
#include "capture/tracer/tracer.h"
#include "common/base/wait_status.h"

namespace heaptap::tracer {
namespace {

using Clock = TracedProcess::Clock;
constexpr std::chrono::seconds kLongestTelling{1};     // from a child's first stop to its clone parent's event
constexpr std::chrono::seconds kLongestAnswering{10};  // likewise, while stops of the clone parent wait to be answered
constexpr size_t kMaxEndedCloneParents = 64;

bool share_memory(pid_t a, pid_t b, int event) {
  return process::share_memory(a, b).value_or(event == PTRACE_EVENT_VFORK);
}

// Whether a stop or the end of this thread waits to be answered.
bool has_unanswered_stop(const Tracee* thread) {
  siginfo_t stop{};
  const int found =
      waitid(P_PID, static_cast<id_t>(thread->id()), &stop, WSTOPPED | WEXITED | WNOHANG | WNOWAIT | __WALL);
  return found == 0 && stop.si_pid != 0;
}

// A child that runs unrecorded, in the log of the process that made it.
void count_unfollowed(AddressSpace* space) {
  if (space == nullptr || !space->is_recording()) return;
  constexpr auto kNumber = static_cast<uint32_t>(wire::ExecOutcome::kNotFollowed);
  space->log().header().execs_refused[kNumber].fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

// A thread, a fork, or a child that shares its parent's memory: /proc tells which.
void Tracer::answer_child(Tracee& clone_parent, int event) {
  unsigned long made = 0;
  if (ptrace(PTRACE_GETEVENTMSG, clone_parent.id(), nullptr, &made) != 0) return;
  try {
    take_child(clone_parent, static_cast<pid_t>(made), event);
  } catch (const std::exception&) {  // everything is detached then, as far as known
    process::TracedMemory memory(static_cast<pid_t>(made));
    if (const AddressSpace* space = clone_parent.process().space.get()) space->breakpoints().lift_all(memory);
    throw;
  }
}

void Tracer::take_child(Tracee& clone_parent, pid_t id, int event) {
  TracedProcess& process = clone_parent.process();
  if (const auto known = threads_.find(id); known != threads_.end()) {
    Tracee& child = *known->second;
    if (child.process().id == process.id && !child.trap_mask.is_seen) child.inherit_trap_mask(clone_parent);
    return;
  }
  const auto status = process::read_thread_status(id);
  if (!status || status->tracer != getpid()) {  // it has exited, or was detached
    early_.erase(id);
    return;
  }
  Tracee* child = nullptr;
  if (status->process == process.id) {
    child = &add_thread(id, process);
  } else {
    TracedProcess& added = add_process(status->process, process.id, process.phase);
    added.is_vfork_child = share_memory(clone_parent.id(), id, event);
    added.trap_action = process.trap_action;
    added.trap_action.met_breakpoint();  // perhaps in a thread of its parent whose stop isn't reported yet
    if (added.is_vfork_child) {
      added.space = process.space;
    } else {
      if (!options_.follow_fork) count_unfollowed(process.space.get());
      begin_copy(added, process.space.get());
    }
    child = &add_thread(id, added);
  }
  child->is_new = true;
  child->inherit_trap_mask(clone_parent);
  const auto early = early_.extract(id);
  if (!early.empty()) answer(id, early.mapped().status);
}

// A stop of what nobody has told of yet: its clone parent will, if it isn't killed first. A thread is known by its process.
void Tracer::stopped_early(pid_t id, base::WaitStatus status) {
  const auto facts = process::read_thread_status(id);
  TracedProcess* process = facts && facts->process != id ? find_process(facts->process) : nullptr;
  if (process == nullptr) {
    early_[id] = {.status = status, .since = Clock::now()};
    return adapt_ticks();
  }
  add_thread(id, *process).is_new = true;
  answer(id, status);
}

// Whether it may be in the middle of creating a thread or a process. A thread waiting for the end of a vfork isn't.
bool Tracer::is_making(const Tracee& thread) const {
  const auto status = process::read_thread_status(thread.id());
  if (!status || status->state == 'T' || status->state == 't') return false;
  const auto call = thread.waits_in();
  if (!call) return true;
  const AddressSpace* space = thread.process().space.get();
  const bool makes = *call >= 0 && (space == nullptr || space->cpu().makes_tasks(static_cast<uint64_t>(*call)));
  return makes && vfork_children_of(thread).empty();
}

// Children that run in its memory (vfork).
std::vector<pid_t> Tracer::vfork_children_of(const Tracee& thread) {
  std::vector<pid_t> vfork_children;
  for (const pid_t child : process::list_children(thread.process().id, thread.id())) {
    if (share_memory(thread.id(), child, 0)) vfork_children.push_back(child);
  }
  return vfork_children;
}

// Children created earlier: they would hit breakpoints, too.
void Tracer::attach_vfork_children(TracedProcess& process) {
  for (const Tracee* thread : threads_of(process)) {
    for (const pid_t child : vfork_children_of(*thread)) {
      if (threads_.contains(child) || early_.contains(child)) continue;
      if (Tracee::seize(child, options_.scan_at_end) != 0) continue;
      TracedProcess& vfork_child = add_process(child, process.id, Phase::kTraced);
      vfork_child.is_vfork_child = true;
      vfork_child.space = process.space;
      Tracee& added = add_thread(child, vfork_child);
      vfork_child.trap_action = trap_action_before_breakpoints(added, process.trap_action);
      added.read_trap_mask();
      if (share_memory(thread->id(), child, 0)) continue;
      // It has executed another program since.
      vfork_child.is_vfork_child = false;
      vfork_child.space = nullptr;
      vfork_child.phase = Phase::kLeaving;
      added.interrupt();
    }
  }
}

// Its text was copied with our breakpoints in it, whatever happens to its parent until its first stop.
void Tracer::begin_copy(TracedProcess& child, const AddressSpace* original) {
  child.begins_as_copy = true;
  if (original == nullptr) return;
  child.space = std::make_shared<AddressSpace>(child.id, original->cpu());
  child.space->copy_from(*original);
}

Tracer::CloneParent Tracer::clone_parent_of(const TracedProcess& process) {
  return {.id = process.id,
          .phase = process.phase,
          .space = process.space,
          .trap_action = process.trap_action,
          .since = {}};
}

// A thread of it may have been killed between creating a process and reporting it. All of them are forgotten.
void Tracer::keep_as_clone_parent(const CloneParent& ended) {
  if (ended.space == nullptr) return;
  const bool is_used =
      std::ranges::any_of(processes_, [&](const auto& other) { return other.second->space == ended.space; });
  if (!is_used) ended.space->end_recording();
  if (ended_clone_parents_.size() >= kMaxEndedCloneParents) ended_clone_parents_.erase(ended_clone_parents_.begin());
  ended_clone_parents_.push_back(ended);
  ended_clone_parents_.back().since = Clock::now();
  adapt_ticks();
}

// Processes whose clone parents were killed before they reported them.
void Tracer::adopt_orphans() {
  const auto now = Clock::now();
  const std::unordered_map<pid_t, EarlyStop> early = early_;
  for (const auto& [id, stop] : early) {
    const auto facts = process::read_thread_status(id);
    if (!facts || facts->tracer != getpid()) {
      early_.erase(id);
      continue;
    }
    const TracedProcess* parent = find_process(facts->parent);
    // This process may have been paused for that long; then the event is among those that wait.
    const bool may_wait = parent != nullptr && now - stop.since <= kLongestAnswering &&
                          std::ranges::any_of(threads_of(*parent), has_unanswered_stop);
    const bool is_late = now - stop.since > kLongestTelling && !may_wait;
    if (!is_late && parent != nullptr) continue;  // it may be about to report
    const std::optional<CloneParent> clone_parent = find_clone_parent(id, is_late);
    if (clone_parent || is_late) adopt(id, stop.status, clone_parent);
  }
  std::erase_if(ended_clone_parents_,
                [&](const CloneParent& clone_parent) { return now - clone_parent.since > kLongestTelling; });
  adapt_ticks();
}

// Its memory has all breakpoints of its clone parent.
std::optional<Tracer::CloneParent> Tracer::find_clone_parent(pid_t child, bool also_living) {
  process::TracedMemory memory(child);
  const auto fits = [&memory](const CloneParent& clone_parent) {
    return clone_parent.space != nullptr && clone_parent.space->breakpoints().are_all_in(memory);
  };
  std::vector<CloneParent> clone_parents(ended_clone_parents_.rbegin(), ended_clone_parents_.rend());
  for (const auto& [id, process] : processes_) {
    if (also_living) clone_parents.push_back(clone_parent_of(*process));
  }
  const auto clone_parent = std::ranges::find_if(clone_parents, fits);
  return clone_parent != clone_parents.end() ? std::optional(*clone_parent) : std::nullopt;
}

// Without a clone parent: what has no breakpoints is detached as it is.
void Tracer::adopt(pid_t id, base::WaitStatus status, const std::optional<CloneParent>& clone_parent) {
  early_.erase(id);
  TracedProcess& added =
      add_process(id, clone_parent ? clone_parent->id : 0, clone_parent ? clone_parent->phase : Phase::kLeaving);
  if (clone_parent) {
    added.trap_action = clone_parent->trap_action;
    added.trap_action.met_breakpoint();
    begin_copy(added, clone_parent->space.get());
  }
  Tracee& child = add_thread(id, added);
  child.is_new = true;
  child.read_trap_mask();
  answer(id, status);
}

// Its first stop.
void Tracer::begin_child(Tracee& child) {
  TracedProcess& process = child.process();
  if (!std::exchange(process.begins_as_copy, false)) return resume(child);
  if (process.phase != Phase::kLeaving && process.space != nullptr && options_.follow_fork && !closing_) {
    return want_log(process, LogWanted::Reason::kFork, child.id());
  }
  if (process.space != nullptr) process.space->breakpoints().lift_all(process.space->memory());
  process.phase = Phase::kLeaving;
  detach(child);
}

void Tracer::answer_exec(pid_t id) {
  TracedProcess* process = find_process(id);
  if (process == nullptr) {  // made by one of ours that hasn't told of it yet
    return stopped_early(id, base::WaitStatus::stopped(SIGTRAP, PTRACE_EVENT_EXEC));
  }
  give_up_hold(*process, base::make_error("it executed another program"));
  const CloneParent clone_parent = clone_parent_of(*process);
  const bool may_have_made = process->had_threads && !process->is_vfork_child;
  // Of the thread that executed, which may have replaced the leader, only the number is left.
  process->trap_receiver = 0;
  for (Tracee* thread : threads_of(*process)) forget_thread(thread->id());
  Tracee& thread = add_thread(id, *process);
  thread.stopped = true;
  thread.is_in_call_stop = true;
  process->trap_action = trap_action_after_exec(process->trap_action);
  if (!process->trap_action.is_owed && thread.ignores(SIGTRAP)) {
    process->trap_action = TrapAction::of(reinterpret_cast<uintptr_t>(SIG_IGN));
  }
  thread.read_trap_mask();
  leave_memory(*process);
  const bool was_recorded = process->was_recorded;
  const bool starts = process->phase == Phase::kBeforeExec;
  const bool follows =
      options_.follow_exec && process->phase == Phase::kTraced && (!process->is_vfork_child || options_.follow_fork);
  if (process->is_vfork_child && !options_.follow_fork) count_unfollowed(process->space.get());
  process->space = nullptr;
  process->log = nullptr;
  process->is_vfork_child = process->had_threads = false;
  if (may_have_made) keep_as_clone_parent(clone_parent);
  process->exit_call.reset();
  process->end_was_told = false;
  if ((starts || follows) && !closing_) {
    return want_log(*process, starts ? LogWanted::Reason::kStart : LogWanted::Reason::kExec, id);
  }
  process->phase = Phase::kLeaving;
  process->left_reason = Left::Reason::kExecuted;
  process->was_recorded = was_recorded;
  detach(thread);
}

}  // namespace heaptap::tracer
