#include "capture/tracer/tracer.h"

#include <sched.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <exception>
#include <utility>

#include "capture/process/stat_line.h"
#include "capture/tracer/call_observer.h"
#include "capture/tracer/guardian_protection.h"
#include "capture/tracer/thread_memory.h"
#include "capture/tracer/trap.h"
#include "common/base/wait_status.h"

namespace heaptap::tracer {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr unsigned kMaxSystemCalls = 2000;  // stops, in a handler: two to a call

// The kernel's si_code of a SIGTRAP; 0: the thread was killed in the meantime.
int trap_code(pid_t thread) {
  siginfo_t reason{};
  return ptrace(PTRACE_GETSIGINFO, thread, nullptr, &reason) == 0 ? reason.si_code : 0;
}

// A child created as untraced would die at the first breakpoint. `index`: the argument with the flags, at a function's
// first instruction.
void trace_what_is_made(AddressSpace& space, arch::RegisterImage& registers, unsigned index) {
  uint64_t flags = 0;
  if (!space.cpu().argument(registers, space.memory(), index, flags) || (flags & CLONE_UNTRACED) == 0) return;
  space.cpu().set_argument(registers, space.memory(), index, flags & ~uint64_t{CLONE_UNTRACED});
}

// At the first instruction of syscall. clone3's flags are the first word of its argument's structure (struct
// clone_args); if the program itself may not write there, they stay.
void trace_what_is_made_by_number(pid_t thread, AddressSpace& space, arch::RegisterImage& registers) {
  uint64_t number = 0;
  if (!space.cpu().argument(registers, space.memory(), 0, number)) return;
  if (space.cpu().is_clone(number)) return trace_what_is_made(space, registers, 1);
  uint64_t place = 0;
  uint64_t flags = 0;
  if (!space.cpu().is_clone3(number) || !space.cpu().argument(registers, space.memory(), 1, place)) return;
  ThreadMemory memory(thread, space.memory());
  if (!memory.read(place, &flags, sizeof(flags)) || (flags & CLONE_UNTRACED) == 0) return;
  flags &= ~uint64_t{CLONE_UNTRACED};
  memory.write(place, &flags, sizeof(flags));
}

// At the first instruction of ptrace.
bool asks_to_be_traced(AddressSpace& space, const arch::RegisterImage& registers) {
  uint64_t request = PTRACE_CONT;
  return space.cpu().argument(registers, space.memory(), 0, request) &&
         static_cast<uint32_t>(request) == PTRACE_TRACEME;
}

// Calls that precede a crash reporter.
bool tells_of_fault(int signal) {
  return signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE || signal == SIGABRT;
}

FaultingEntry entry_at(const Site& site, AddressSpace& space, const arch::RegisterImage& registers) {
  FaultingEntry entry{.address = site.address, .stack_pointer = space.cpu().stack_pointer(registers), .arguments = {}};
  for (unsigned i = 0; i < entry.arguments.size(); ++i) {
    space.cpu().argument(registers, space.memory(), i, entry.arguments[i]);
  }
  return entry;
}

}  // namespace

// Small pieces: memory that malloc gets by mmap wouldn't be visible to others.
Tracer::Tracer(int socket, const TracerOptions& options, RequestSignal& request_signal)
    : socket_(socket), options_(options), request_signal_(request_signal) {
  constexpr size_t kPieces = 64;
  constexpr size_t kPieceBytes = 16384;
  for (size_t i = 0; i < kPieces; ++i) reserve_.push_back(std::make_unique_for_overwrite<char[]>(kPieceBytes));
}

void Tracer::run() {
  while (true) {
    try {
      if (closing_ && may_end()) return;
      watch();
    } catch (const std::exception& error) {
      break_off(error.what());
    }
  }
}

void Tracer::watch() {
  answered_ = {};
  take_untaken();
  if (is_out_of_time() && !closing_) run_out_of_time();
  if (request_signal_.rang()) {
    read_packets();
    for (const auto& [id, process] : processes_) {
      if (process->is_stopping) check_held(*process);
    }
    look_after_heaptap();
    look_after_attached();
    if (!early_.empty() || !ended_clone_parents_.empty()) adopt_orphans();
    leave_what_waits();
  }
  if (!unanswered_.empty()) {
    answered_ = unanswered_.front();
    unanswered_.pop_front();
  } else if (const auto next = wait_for_news()) {
    answered_ = *next;
    untaken_ = next;
  }
  if (const pid_t id = answered_.thread; id > 0) {
    const auto since = TracedProcess::Clock::now();
    answer(id, answered_.status);
    answered_ = {};
    const auto known = threads_.find(id);
    if (known != threads_.end()) count_pause(known->second->process(), since);
    if (known != threads_.end() && waits_in_vain(known->second->process())) leave_what_waits();
  } else if (errno == ECHILD && !closing_) {
    pause();  // the request_signal's signal ends it
  }
}

// A thread that was resumed is in no stop any more, or in another one that hasn't been told of.
void Tracer::take_untaken() {
  const auto told = std::exchange(untaken_, std::nullopt);
  if (!told) return;
  const auto known = threads_.find(told->thread);
  if (known != threads_.end() && !known->second->stopped) return;
  if (const auto status = take_stop(*told)) unanswered_.push_back({.thread = told->thread, .status = *status});
}

// The tracer answers one stop after the other, so pauses of several threads don't overlap. Pauses for a leak scan are part of
// the scan.
void Tracer::count_pause(TracedProcess& process, TracedProcess::Clock::time_point since) {
  constexpr std::chrono::milliseconds kBetweenNews{100};
  if (process.phase != Phase::kTraced || process.is_held) return;
  const auto now = TracedProcess::Clock::now();
  process.paused += now - since;
  if (now - process.pauses_told_at >= kBetweenNews) tell_pauses(process, now);
}

void Tracer::tell_pauses(TracedProcess& process, TracedProcess::Clock::time_point now) {
  if (!process.was_recorded) return;
  process.pauses_told_at = now;
  Packet packet;
  packet.header = {.kind = PacketKind::kPaused, .process = process.id};
  packet.header.value = static_cast<uint64_t>(process.paused.count());
  send(std::move(packet));
}

void Tracer::answer(pid_t id, base::WaitStatus status) {
  if (status.has_ended()) return answer_end(id, status);
  const int event = status.event();
  if (event == PTRACE_EVENT_EXEC) return answer_exec(id);
  const auto known = threads_.find(id);
  if (known == threads_.end()) return stopped_early(id, status);
  Tracee& thread = *known->second;
  thread.stopped = true;
  ++thread.process().stops;
  thread.is_in_call_stop = (event != 0 && event != PTRACE_EVENT_STOP) || status.is_in_system_call();
  thread.is_in_signal_stop = event == 0 && !status.is_in_system_call();
  thread.met_address = 0;
  thread.may_be_making = false;
  thread.question = {};
  if (thread.bare_address != 0) plant_again(thread);
  if (event != 0) return answer_event(thread, event, status.stop_signal());
  if (status.is_in_system_call()) return answer_system_call(thread);
  if (status.stop_signal() == SIGTRAP) return answer_trap(thread);
  answer_signal(thread, status.stop_signal());
}

void Tracer::answer_event(Tracee& thread, int event, int signal) {
  if (event == PTRACE_EVENT_CLONE || event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK) {
    answer_child(thread, event);
    const bool may_report = thread.handled_fault != 0 && event != PTRACE_EVENT_CLONE;
    return may_report ? hand_over(thread) : resume(thread);
  }
  if (event == PTRACE_EVENT_EXIT) {
    const bool waits = answer_thread_end(thread);
    give_up_giving_to(thread);
    if (thread.process().is_stopping) return check_held(thread.process());
    if (waits) return;
  }
  if (event == PTRACE_EVENT_STOP) {
    thread.group_stopped = signal != SIGTRAP;
    if (thread.is_new) {
      thread.is_new = false;
      return begin_child(thread);
    }
    if (std::exchange(thread.tells_action, false) && !thread.group_stopped) return tell_trap_action(thread);
    if (thread.replays(Tracee::Replay::Step::kGiven)) return end_giving_to(thread);
    if (std::exchange(thread.was_asked, false)) restart_call(thread);
    if (thread.process().is_stopping) return check_held(thread.process());
  }
  resume(thread);
}

void Tracer::answer_trap(Tracee& thread) {
  TracedProcess& process = thread.process();
  arch::RegisterImage registers;
  using Step = Tracee::Replay::Step;
  if (thread.replays(Step::kSent) || thread.replays(Step::kInCall)) return play_again(thread);
  if (!thread.read_registers(registers)) return;  // killed: its exit event follows
  if (process.space == nullptr || !process.space->cpu().runs(registers)) return answer_signal(thread, SIGTRAP);
  const arch::Cpu& cpu = process.space->cpu();
  BreakpointTable& breakpoints = process.space->breakpoints();
  const Site* site = breakpoints.find(cpu.breakpoint_address(registers));
  const bool is_planted = site != nullptr && site->planted;
  const bool is_stale = site != nullptr && !is_planted;
  const int code = trap_code(thread.id());
  const TrapOwner owner = owner_of({.code = code,
                                    .is_behind_site = site != nullptr,
                                    .is_planted = is_planted,
                                    .is_blocked = is_sent(code) && thread.blocked_trap(),
                                    .is_breakpoint = is_stale && breakpoints.is_breakpoint_at(site->address)});
  if (owner == TrapOwner::kProgram) return answer_signal(thread, SIGTRAP);
  thread.restore_signal_mask(is_sent(code));
  process.trap_action.met_breakpoint();
  cpu.set_program_counter(registers, site->address);
  // When the thread leaves, the instruction is restored.
  if (owner == TrapOwner::kSite && process.phase != Phase::kLeaving) {
    thread.met_address = site->address;
    return answer_breakpoint(thread, *site, registers);
  }
  thread.write_registers(registers);
  resume(thread);
}

void Tracer::answer_breakpoint(Tracee& thread, const Site& site, arch::RegisterImage& registers) {
  affinity_.follow(thread);
  TracedProcess& process = thread.process();
  AddressSpace& space = *process.space;
  space.memory().note_stack_pointer(space.cpu().stack_pointer(registers));
  CallObserver observer(space, thread, registers);
  bool waits = false;
  bool wants_maker = false;
  if (site.is_change_notice) {
    space.look_at_objects();
    tell_notes(process);
  }
  if (site.awaited_returns != 0 && answer_return(thread, site, registers)) return resume(thread);
  if (site.is_return) {
    const CallObserver::Resolved resolved = observer.returning();
    if (resolved.address != 0) space.add_resolved(resolved.address, resolved.function);
    if (resolved.asked != ApiCall::kNone && ask(thread, resolved, registers)) return end_awaits(thread);
  }
  const bool is_retried =
      thread.faulting.address == site.address && thread.faulting == entry_at(site, space, registers);
  if (thread.faulting.address == site.address) thread.faulting = {};
  if (!site.functions.empty() && !is_retried) {
    const Watch watch = site.functions.front().watch;
    if (watch == Watch::kExit || watch == Watch::kLastExit) {
      waits = answer_exit_call(thread, site, registers);
    } else if (watch == Watch::kStack) {
      observer.sets_alternate_stack();
    } else if (watch == Watch::kAction) {
      uses_action(thread, registers);
    } else if (watch == Watch::kMask) {
      sets_mask(thread, registers);
    } else if (watch == Watch::kSpoken) {
      observer.spoke(site);
    } else if (watch == Watch::kClone) {
      constexpr unsigned kFlags = 2;  // of clone(function, stack, flags, …)
      trace_what_is_made(space, registers, kFlags);
    } else if (watch == Watch::kTrace) {
      wants_maker = asks_to_be_traced(space, registers);
    } else if (watch == Watch::kNumber) {
      trace_what_is_made_by_number(thread.id(), space, registers);
      uses_action_by_number(thread, registers);
    } else {
      observer.entered(site);
    }
  }
  go_over(thread, site, registers);
  end_awaits(thread);
  if (wants_maker) return hand_to_maker(process);
  if (!waits) resume(thread);
}

// Emulates the program's instruction at the breakpoint.
void Tracer::go_over(Tracee& thread, const Site& site, arch::RegisterImage& registers) {
  AddressSpace& space = *thread.process().space;
  ThreadMemory memory(thread.id(), space.memory());
  if (!space.cpu().emulate(site.address, site.instruction(), registers, memory)) {
    // It would fault: for that, the instruction is restored until the fault is reported.
    thread.faulting = entry_at(site, space, registers);
    space.breakpoints().take_out(site.address);
    thread.bare_address = site.address;
    if (site.awaited_returns != 0) may_miss_returns(space, site.address);
  }
  thread.write_registers(registers);
  thread.met_address = 0;
  if (site.is_tail_jump) answer_jump(thread, site, registers);
}

// Calls return there after they continued in other code. True: the breakpoint had no other purpose, and the thread
// continues at the program's own instruction.
bool Tracer::answer_return(Tracee& thread, const Site& site, const arch::RegisterImage& registers) {
  AddressSpace& space = *thread.process().space;
  const CallObserver::Resolved resolved = CallObserver(space, thread, registers).returned();
  if (resolved.address != 0) space.add_resolved(resolved.address, resolved.function);
  end_awaits(thread);
  if (site.planted) return false;
  thread.met_address = 0;
  return thread.write_registers(registers);
}

// A function that may have ended with a jump to other code.
void Tracer::answer_jump(Tracee& thread, const Site& site, const arch::RegisterImage& registers) {
  AddressSpace& space = *thread.process().space;
  PendingCall* call = CallObserver(space, thread, registers).jumped(site);
  if (call == nullptr) return;
  const uint64_t address = call->place.return_address;
  const int object = space.objects().find(address);
  const uint32_t owner = object < 0 ? BreakpointTable::kNoObject : static_cast<uint32_t>(object);
  if (space.breakpoints().await_return(address, owner) == nullptr) return call_is_lost(thread);
  call->awaited_return = address;
}

// A system call that ends a handler: the interrupted call continues.
void Tracer::answer_system_call(Tracee& thread) {
  if (thread.repeats_call()) return answer_repeated_call(thread);
  const TracedProcess& process = thread.process();
  arch::RegisterImage registers;
  const bool awaits_action = thread.action_call.stops_left > 0;
  if (awaits_action) --thread.action_call.stops_left;
  if (thread.system_calls_left > 0) --thread.system_calls_left;
  uint64_t resumed_at = 0;
  const bool is_known =
      process.space != nullptr && thread.read_registers(registers) && process.space->cpu().runs(registers);
  if (is_known && awaits_action) answer_action_call(thread, registers);
  const bool ends_handler =
      is_known && process.space->cpu().ends_handler(registers, process.space->memory(), resumed_at);
  if (ends_handler) thread.calls.handler_returned(resumed_at);
  if (ends_handler) end_awaits(thread);
  if (ends_handler || thread.system_calls_left == 0) thread.handled_fault = 0;
  if (thread.handled_fault != 0 && process.space->cpu().names_tracer(registers)) return hand_over(thread);
  resume(thread);
}

// A crash reporter can't attach to a traced process: a handler of a fault signal creates a process, or names one that
// may attach.
void Tracer::hand_over(Tracee& thread) {
  TracedProcess& process = thread.process();
  if (process.phase != Phase::kTraced || process.is_vfork_child) return resume(thread);
  note(process.id, {.kind = model::NoteKind::kHandedOver, .numbers = {static_cast<uint64_t>(thread.handled_fault)}});
  process.is_handed_over = true;
  leave(process, Left::Reason::kFailed);
}

// It requests to be traced by its parent, and only one tracer is possible. A child that runs in its creator's memory
// detaches from that one, too, whose breakpoints it would hit.
void Tracer::hand_to_maker(TracedProcess& process) {
  TracedProcess* left = &process;
  for (const auto& [id, other] : processes_) {
    if (process.is_vfork_child && !other->is_vfork_child && other->space == process.space) left = other.get();
  }
  note(left->id, {.kind = model::NoteKind::kHandedToMaker, .numbers = {left != &process ? uint64_t{1} : 0}});
  leave(*left, Left::Reason::kFailed);
}

// The breakpoint removed for this thread.
void Tracer::plant_again(Tracee& thread) {
  const uint64_t address = std::exchange(thread.bare_address, 0);
  const TracedProcess& process = thread.process();
  if (process.phase != Phase::kTraced || process.space == nullptr) return;
  BreakpointTable& breakpoints = process.space->breakpoints();
  Site* site = breakpoints.find(address);
  if (site != nullptr && (site->is_permanent() || site->awaited_returns != 0)) breakpoints.plant(*site);
}

// Another thread may return there before the breakpoint is inserted.
void Tracer::may_miss_returns(const AddressSpace& space, uint64_t address) {
  for (const auto& [id, thread] : threads_) {
    if (thread->process().space.get() == &space) thread->calls.may_miss_returns(address);
  }
}

// Its return can't be seen.
void Tracer::call_is_lost(Tracee& thread) {
  const PendingCall* call = thread.calls.innermost();
  if (call->is_recorded_at_return()) thread.process().space->log().header().lost_events.fetch_add(1, kRelaxed);
  thread.calls.pop(call);
}

// For calls that returned, and for those left otherwise.
void Tracer::end_awaits(Tracee& thread) {
  const unsigned missed = thread.calls.take_missed();
  if (missed != 0) thread.process().space->log().header().lost_events.fetch_add(missed, kRelaxed);
  for (const uint64_t address : thread.calls.take_ended_awaits()) {
    thread.process().space->breakpoints().await_no_more(address);
  }
}

// The signal requests a report, in addition to its meaning for the program. A program without a handler doesn't get it:
// it might be killed by it. True: handled completely.
bool Tracer::is_report_request(const Tracee& thread, int signal) const {
  const TracedProcess& process = thread.process();
  if (signal != options_.report_signal || process.is_vfork_child) return false;
  if (process.space != nullptr && process.phase == Phase::kTraced) {
    process.space->log().header().report_requests.fetch_add(1, kRelaxed);
  }
  return !thread.has_handler(signal);
}

// Whether SIGXCPU is due to the cost of stops: alone the program would have stayed below its soft limit, which the
// kernel raises by a second each time.
bool Tracer::is_for_stops(const Tracee& thread) {
  constexpr uint64_t kStopNs = 10'000;  // of the thread's own time in the kernel, roughly
  TracedProcess& process = thread.process();
  rlimit seconds{};
  if (trap_code(thread.id()) != SI_KERNEL || prlimit(process.id, RLIMIT_CPU, nullptr, &seconds) != 0) return false;
  const auto stat = process::StatLine::of(process.id);
  const auto user = stat.number(process::StatLine::kUserTime);
  const auto system = stat.number(process::StatLine::kSystemTime);
  if (!user || !system || seconds.rlim_cur <= process.seconds_forgiven) return false;
  const uint64_t tick_ns = 1'000'000'000 / static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
  const uint64_t stops_ns = std::min(*system * tick_ns, process.stops * kStopNs);
  const uint64_t own_ns = (*user + *system) * tick_ns - stops_ns;
  const uint64_t limit = seconds.rlim_cur - 1 - process.seconds_forgiven;
  if (own_ns >= limit * 1'000'000'000) return false;
  ++process.seconds_forgiven;
  return true;
}

void Tracer::answer_signal(Tracee& thread, int signal) {
  if (is_report_request(thread, signal)) return resume(thread);
  if (signal == SIGXCPU && is_for_stops(thread)) return resume(thread);
  if (signal == SIGTRAP && answer_program_trap(thread)) return;
  thread.signal = signal;
  TracedProcess& process = thread.process();
  if (process.phase == Phase::kTraced && !process.is_vfork_child) {
    wire::ExitNotice notice{};
    notice.kind = wire::ExitKind::kSignal;
    notice.signal = static_cast<uint32_t>(signal);
    if (options_.scan_at_end && thread.would_end_by(signal) && tell_end(thread, notice)) return;
    // Calls of the handler are not part of the call that it interrupts.
    arch::RegisterImage registers;
    if (tells_of_fault(signal) && thread.has_handler(signal)) {
      thread.handled_fault = signal;
      thread.system_calls_left = kMaxSystemCalls;
    }
    if (!thread.calls.is_empty() && thread.has_handler(signal) && thread.read_registers(registers)) {
      const bool is_new = thread.calls.interrupt(process.space->cpu().stack_pointer(registers));
      if (is_new) thread.system_calls_left = kMaxSystemCalls;
    }
  }
  resume(thread);
}

void Tracer::answer_end(pid_t id, base::WaitStatus status) {
  early_.erase(id);
  const auto known = threads_.find(id);
  TracedProcess* process = known != threads_.end() ? &known->second->process() : find_process(id);
  // The leader's exit is reported when all other threads have exited; if it had exited before it was seized, nothing is
  // reported.
  const bool ends = process != nullptr && (id == process->id || threads_of(*process).size() <= 1);
  if (ends) give_up_hold(*process, base::make_error("it has ended"));
  forget_thread(id);
  if (ends) process_ended(*process, status);
}

void Tracer::process_ended(TracedProcess& process, base::WaitStatus status) {
  if (process.was_recorded) {
    tell_pauses(process, {});
    Packet packet;
    packet.header = {.kind = PacketKind::kLeft, .process = process.id};
    packet.header.reason =
        static_cast<uint32_t>(process.phase == Phase::kLeaving ? process.left_reason : Left::Reason::kEnded);
    packet.header.wait_status = status.raw();
    send(std::move(packet));
  }
  leave_memory(process);
  const bool may_have_made = !process.is_vfork_child && (status.was_killed() || process.had_threads);
  const CloneParent clone_parent = clone_parent_of(process);
  forget_process(process.id);
  if (may_have_made) keep_as_clone_parent(clone_parent);
  if (!early_.empty()) adopt_orphans();
}

void Tracer::resume(Tracee& thread) {
  const TracedProcess& process = thread.process();
  const bool awaits_log =
      process.phase == Phase::kWaitsForLog && process.reason != LogWanted::Reason::kAttach && !process.is_vfork_child;
  if (process.phase == Phase::kLeaving && !thread.repeats_call()) return detach(thread);
  const bool awaits_scan = process.ending == &thread || process.next_ending == &thread;
  if (awaits_log || process.is_held || awaits_scan || thread.question.asked != ApiCall::kNone) return;
  if (thread.replays(Tracee::Replay::Step::kAwaitsOthers)) return begin_giving(thread);
  if (stands_aside(thread)) return give_trap(thread.process());
  // Its stack is looked at, too.
  if (process.ending != nullptr && thread.at_end) return;
  if (thread.group_stopped) {
    thread.stay_stopped();
  } else {
    thread.go_on();
  }
}

}  // namespace heaptap::tracer
