// Detaching from processes, undisturbed, and holding them for a leak scan.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <string>
#include <utility>

#include "capture/process/process_status.h"
#include "capture/process/thread_state.h"
#include "capture/tracer/tracer.h"
#include "common/arch/thread_facts.h"

namespace heaptap::tracer {
namespace {

using Clock = TracedProcess::Clock;
constexpr std::chrono::seconds kLongestLeaving{5};
constexpr std::chrono::milliseconds kDeepInKernel{200};
constexpr std::chrono::seconds kLongestStopping{5};

// For the thread that ends the process only those registers count that the program relied on at its call of exit.
void keep_registers_at_end(const TracedProcess& process, process::StoppedThread& thread) {
  const arch::ThreadFacts* facts = arch::thread_facts(process.space->cpu().architecture());
  if (process.exit_kind == wire::ExitKind::kSignal || facts == nullptr) return;
  if (process.exit_kind == wire::ExitKind::kExit) thread.registers = process.exit_caller.registers;
  const bool has_returned =
      process.exit_kind == wire::ExitKind::kReturn ||
      (process.exit_kind == wire::ExitKind::kExitBegins && process.exit_call->kind == wire::ExitKind::kReturn);
  if (has_returned) thread.registers.clear();
  std::erase_if(thread.registers,
                [&](const wire::RootWord& word) { return !facts->is_preserved(word.register_number); });
}

}  // namespace

// First the breakpoints are removed, while the threads run; then each thread is detached as soon as it is stopped at a
// suitable place. A thread that waits in a system call is left there: it can't have hit a breakpoint, and there is none
// left. The kernel detaches it when this process exits.
void Tracer::leave(TracedProcess& process, Left::Reason reason) {
  if (process.phase == Phase::kLeaving) return;
  const pid_t id = process.id;  // the process is forgotten with the last of its threads
  process.left_reason = reason;
  process.trap_receiver = 0;
  give_up_hold(process, base::make_error("it is no longer traced"));
  leave_memory(process);
  if (process.space != nullptr && !process.is_vfork_child) leave_vfork_children(process, reason);
  const bool had_breakpoints = process.space != nullptr && !process.space->breakpoints().sites().empty();
  process.phase = Phase::kLeaving;
  process.log = nullptr;
  process.ending = process.next_ending = nullptr;
  const std::vector<Tracee*> threads = threads_of(process);
  // A thread has to be stopped to restore state that breakpoints have removed.
  const auto is_still = [](const Tracee* thread) { return thread->stopped && !thread->group_stopped; };
  const bool is_owed = process.trap_action.is_owed && std::ranges::none_of(threads, is_still);
  const auto sleeper = std::ranges::find_if(threads, [is_owed](const Tracee* thread) {
    const auto status = is_owed ? process::read_thread_status(thread->id()) : std::nullopt;
    return status && status->state == 'S' && !thread->is_new;
  });
  for (Tracee* thread : threads) {
    const bool is_sleeper = sleeper != threads.end() && thread == *sleeper;
    if (thread->stopped) {
      detach(*thread);
    } else if (!is_sleeper && !thread->replay &&
               (thread->has_ended() ||  // a leader, whose exit is reported after that of the others
                (!process.is_handed_over && !thread->is_new && !thread->group_stopped && thread->waits_in_kernel() &&
                 !(had_breakpoints && is_making(*thread))))) {
      thread->left_in_kernel = true;
    } else if (!thread->is_new) {
      thread->interrupt();
    }
  }
  if (TracedProcess* const still_there = find_process(id)) check_left(*still_there);
}

// Removes the breakpoints. Also after its exit: others may run in that memory (vfork), and continue.
void Tracer::leave_memory(TracedProcess& process) {
  if (process.space == nullptr || process.is_vfork_child) return;
  process.space->breakpoints().lift_all(process.space->memory());
}

// Those that run in its memory (vfork).
void Tracer::leave_vfork_children(const TracedProcess& process, Left::Reason reason) {
  std::vector<pid_t> vfork_children;
  for (const auto& [id, other] : processes_) {
    if (other->is_vfork_child && other->space == process.space) vfork_children.push_back(id);
  }
  for (const pid_t id : vfork_children) {
    if (TracedProcess* vfork_child = find_process(id)) leave(*vfork_child, reason);
  }
}

// The provider of a page of its memory (a file system, or a program that fills it) doesn't answer: possibly because we
// have stopped it.
bool Tracer::waits_in_vain(const TracedProcess& process) {
  return process.space != nullptr && process.phase == Phase::kTraced && process.space->memory().has_given_up();
}

void Tracer::leave_what_waits() {
  std::vector<pid_t> ids;
  for (const auto& [id, process] : processes_) {
    if (waits_in_vain(*process)) ids.push_back(id);
  }
  for (const pid_t id : ids) {
    TracedProcess* process = find_process(id);
    if (process == nullptr) continue;
    note(id, {model::NoteKind::kTracedPageMissing});
    leave(*process, Left::Reason::kFailed);
  }
}

void Tracer::leave_all(Left::Reason reason) {
  if (!std::exchange(closing_, true)) closing_since_ = Clock::now();
  adapt_ticks();
  std::vector<pid_t> ids;
  for (const auto& [id, process] : processes_) ids.push_back(id);
  for (const pid_t id : ids) {
    if (TracedProcess* process = find_process(id)) leave(*process, reason);
  }
}

// A limit that can't be raised will kill this process, and programs at breakpoints with it.
void Tracer::run_out_of_time() {
  for (const auto& [id, process] : processes_) {
    if (!process->was_recorded) continue;
    note(id, {model::NoteKind::kTracerOutOfTime});
  }
  leave_all();
}

// Handles an unexpected failure: missing memory. First the step that needs none: whatever follows, the programs have
// their own instructions, and their PCs are valid.
void Tracer::break_off(const char* why) {
  for (const auto& [id, process] : processes_) leave_memory(*process);
  for (const auto& [id, thread] : threads_) put_back(*thread);
  if (std::exchange(broke_off_, true)) _exit(EXIT_FAILURE);  // the kernel detaches from the rest
  reserve_.clear();
  for (const auto& [id, process] : processes_) {
    if (!process->was_recorded || process->phase == Phase::kLeaving) continue;
    note(id, {.kind = model::NoteKind::kTracerBrokeOff, .name = why});
  }
  const ThreadNews unknown = threads_.contains(answered_.thread) ? ThreadNews{} : std::exchange(answered_, {});
  leave_all(Left::Reason::kFailed);
  detach_stopped();
  if (unknown.thread != 0) answer(unknown.thread, unknown.status);  // its stop isn't reported again
}

// For processes being detached already: the detaching of such a thread wasn't finished.
void Tracer::detach_stopped() {
  std::vector<pid_t> stopped;
  for (const auto& [id, thread] : threads_) {
    if (thread->stopped && thread->process().phase == Phase::kLeaving) stopped.push_back(id);
  }
  for (const pid_t id : stopped) {
    if (const auto known = threads_.find(id); known != threads_.end()) detach(*known->second);
  }
}

// For a stop at a breakpoint that wasn't handled completely.
void Tracer::put_back(Tracee& thread) {
  if (thread.met_address == 0) return;
  arch::RegisterImage registers;
  if (!thread.stopped || !thread.read_registers(registers)) return;
  thread.process().space->cpu().set_program_counter(registers, std::exchange(thread.met_address, 0));
  thread.write_registers(registers);
}

// The thread is stopped, and its process's breakpoints are removed.
void Tracer::detach(Tracee& thread) {
  TracedProcess& process = thread.process();
  // The requested stop may be reported before that of a breakpoint already hit.
  if (!thread.delivers(SIGTRAP) && thread.has_pending_trap()) {
    thread.go_on();
    return thread.interrupt();
  }
  if (thread.replays(Tracee::Replay::Step::kAwaitsCall)) {  // with all signals blocked until its call begins
    thread.set_signal_mask(thread.replay->mask);
    thread.signal = SIGTRAP;
  }
  if (pays_before_leaving(thread)) return;
  if (process.space != nullptr) restart_call(thread);
  thread.detach();
  forget_thread(thread.id());
  check_left(process);
}

void Tracer::check_left(TracedProcess& process) {
  for (const Tracee* thread : threads_of(process)) {
    if (!thread->left_in_kernel) return;
  }
  if (process.was_recorded) {
    tell_pauses(process, {});
    process.was_recorded = false;
    Packet packet;
    packet.header = {.kind = PacketKind::kLeft, .process = process.id};
    packet.header.reason = static_cast<uint32_t>(process.left_reason);
    send(std::move(packet));
  }
  if (threads_of(process).empty()) forget_process(process.id);
}

// A running thread will stop, however little CPU time it gets; and a child being created in a system call may have
// copied breakpoints.
bool Tracer::may_end() {
  const bool is_late = Clock::now() - closing_since_ > kLongestLeaving;
  for (const auto& [id, thread] : threads_) {
    if (thread->left_in_kernel) continue;
    if (!is_late || !thread->waits_in_kernel() || is_making(*thread)) return false;
  }
  return early_.empty();
}

void Tracer::forget_thread(pid_t id) {
  const auto known = threads_.find(id);
  if (known == threads_.end()) return;
  Tracee& thread = *known->second;
  TracedProcess& process = thread.process();
  if (process.space != nullptr) {
    process.space->unmappings().end(id);
    thread.calls.clear();
    end_awaits(thread);
  }
  if (thread.stream != nullptr) process.space->log().end_stream(thread.stream);
  if (thread.alternate_stack.begin != 0 && process.space != nullptr)
    process.space->log().forget_stack(thread.alternate_stack.begin);
  const bool was_awaited = process.ending == &thread;
  if (process.next_ending == &thread) process.next_ending = nullptr;
  threads_.erase(known);
  if (was_awaited) {
    process.ending = nullptr;
    tell_next_ending(process);
    threads_may_end(process);
  }
  if (process.trap_receiver == id) {
    end_giving(process);
  } else if (process.trap_receiver != 0) {
    give_trap(process);
  }
  if (process.is_stopping) check_held(process);
}

void Tracer::forget_process(pid_t id) {
  const TracedProcess* process = find_process(id);
  if (process == nullptr) return;
  for (const Tracee* thread : threads_of(*process)) forget_thread(thread->id());
  processes_.erase(id);
}

void Tracer::hold(pid_t id) {
  TracedProcess* process = find_process(id);
  if (process == nullptr || process->phase != Phase::kTraced) {
    return tell_not_held(id, base::make_error("it is no longer traced"));
  }
  process->is_held = process->is_stopping = true;
  process->asked_at = Clock::now();
  adapt_ticks();
  for (Tracee* thread : threads_of(*process)) {
    if (thread->stopped || thread->is_new) continue;
    thread->interrupt();
  }
  check_held(*process);
}

void Tracer::check_held(TracedProcess& process) {
  const auto passed = Clock::now() - process.asked_at;
  for (const Tracee* thread : threads_of(process)) {
    if (thread->stopped) continue;
    const auto status = process::read_thread_status(thread->id());
    const bool is_deep = status && status->state == 'D' && passed > kDeepInKernel;
    if (is_deep || !status || status->has_ended()) continue;
    if (passed < kLongestStopping) return;
    process.is_stopping = false;
    adapt_ticks();
    tell_not_held(process.id, base::make_error("its thread {} doesn't stop", thread->id()));
    return release(process.id);
  }
  process.is_stopping = false;
  adapt_ticks();
  tell_held(process);
}

void Tracer::tell_not_held(pid_t id, const base::Error& error) {
  tell(PacketKind::kNotHeld, id, base::make_error("process {} can't be read: {}", id, error.message));
}

// There will be nothing to scan. Reported to the caller.
void Tracer::give_up_hold(TracedProcess& process, const base::Error& error) {
  const bool was_asked = process.is_stopping;
  process.is_held = process.is_stopping = false;
  if (!was_asked) return;
  adapt_ticks();
  tell_not_held(process.id, error);
}

void Tracer::tell_held(TracedProcess& process) {
  for (const Tracee* thread : threads_of(process)) {
    if (!thread->stopped && thread->has_ended()) continue;
    Packet packet;
    packet.header = {.kind = PacketKind::kHeldThread, .process = process.id};
    packet.thread.thread_id = static_cast<uint32_t>(thread->id());
    if (!thread->stopped || !process::read_stopped_thread(thread->id(), process.space->cpu(), packet.thread)) {
      const auto place = process::read_kernel_place(thread->id());
      if (!place) continue;
      packet.thread.stack_pointer = place->stack_pointer;
      packet.thread.program_counter = place->program_counter;
    }
    if (thread == process.ending) keep_registers_at_end(process, packet.thread);
    send(std::move(packet));
  }
  Packet packet;
  packet.header = {.kind = PacketKind::kHeld, .process = process.id};
  packet.header.architecture = process.space->cpu().architecture();
  send(std::move(packet));
}

void Tracer::release(pid_t id) {
  TracedProcess* process = find_process(id);
  if (process == nullptr || !process->is_held) return;
  process->is_held = process->is_stopping = false;
  adapt_ticks();
  for (Tracee* thread : threads_of(*process)) {
    if (!thread->stopped) continue;
    if (thread->signal == 0) restart_call(*thread);
    resume(*thread);
  }
}

// A system call that only our stop interrupted starts again.
void Tracer::restart_call(Tracee& thread) {
  if (thread.process().space == nullptr) return;
  arch::RegisterImage registers;
  const arch::Cpu& cpu = thread.process().space->cpu();
  if (thread.group_stopped || !thread.read_registers(registers) || !cpu.runs(registers)) return;
  if (cpu.restart_interrupted_call(registers)) thread.write_registers(registers);
}

}  // namespace heaptap::tracer
