// SIGTRAP state of the program. Masks are corrected at each breakpoint. An action removed by breakpoints is restored
// only when needed: before a SIGTRAP of the program is delivered to its handler, and at detach. Until then signals sent
// by a program reach this tracer first, as with any tracer. What the program reads is corrected at the end of its system
// call: the kernel's action is one for all threads, whose breakpoints would reset it in between.
#include <sys/ptrace.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "capture/tracer/injected_call.h"
#include "capture/tracer/thread_memory.h"
#include "capture/tracer/tracer.h"
#include "capture/tracer/trap.h"

namespace heaptap::tracer {
namespace {

using Step = Tracee::Replay::Step;

constexpr std::chrono::milliseconds kLongestLearning{500};
constexpr uint64_t kMaskBytes = 8;  // the kernel's
constexpr uint64_t kIntMask = 0xffffffff;
constexpr unsigned kMaxActionStops = 4096;  // between a function's beginning and its system call: those of handlers

bool write_word(const arch::Cpu& cpu, arch::TargetMemory& memory, uint64_t address, uint64_t value) {
  std::array<uint8_t, 8> bytes{};
  for (unsigned i = 0; i < cpu.word_bytes(); ++i) bytes[i] = static_cast<uint8_t>(value >> 8 * i);
  return memory.write(address, bytes.data(), cpu.word_bytes());
}

}  // namespace

// For a SIGTRAP that isn't from our breakpoints. True: handled completely.
bool Tracer::answer_program_trap(Tracee& thread) {
  TracedProcess& process = thread.process();
  siginfo_t reason{};
  if (thread.replay || ptrace(PTRACE_GETSIGINFO, thread.id(), nullptr, &reason) != 0) return false;
  switch (delivery_of(process.trap_action.kind, is_sent(reason.si_code), thread.trap_mask.blocks)) {
    case TrapDelivery::kAsItIs:
      return false;
    case TrapDelivery::kNot:
      resume(thread);
      return true;
    case TrapDelivery::kRestored:
      break;
  }
  if (process.space == nullptr || process.phase != Phase::kTraced) return false;
  // Alone, it knows of each breakpoint.
  if (!process.trap_action.is_owed && threads_of(process).size() <= 1) return false;
  const auto mask = thread.signal_mask();
  if (!mask) return false;
  thread.replay = {.reason = reason, .mask = *mask, .step = Step::kAwaitsOthers};
  thread.signal = SIGTRAP;
  resume(thread);
  return true;
}

// The next one to get a SIGTRAP, unless another thread still does.
void Tracer::begin_giving(Tracee& thread) {
  TracedProcess& process = thread.process();
  if (process.trap_receiver == 0) {
    process.trap_receiver = thread.id();
    for (Tracee* other : threads_of(process)) {
      if (!stands_aside(*other) || other->stopped) continue;
      other->was_asked = true;
      other->interrupt();
    }
  }
  give_trap(process);
}

// Whether the thread is kept stopped while another one gets a SIGTRAP. Each one may block it at the moment: in a handler,
// or in a function of the C library.
bool Tracer::stands_aside(const Tracee& thread) {
  const pid_t receiver = thread.process().trap_receiver;
  return receiver != 0 && receiver != thread.id() && !thread.is_new && !thread.at_end;
}

// When no other thread can hit a breakpoint: those that wait in the kernel stop before they are back. The stop in which
// the signal was to be delivered has passed when the handler has been restored: it is sent again, before anything else.
// What the kernel knew in that stop has passed with it: that a system call ends with EINTR once a handler has run, or
// runs under a mask of its own. Such a call begins again, and the signal interrupts it there.
void Tracer::give_trap(TracedProcess& process) {
  const auto known = threads_.find(process.trap_receiver);
  if (known == threads_.end()) return end_giving(process);
  Tracee& receiver = *known->second;
  if (!receiver.replays(Step::kAwaitsOthers) || !receiver.stopped) return;
  for (const Tracee* other : threads_of(process)) {
    if (stands_aside(*other) && !other->stopped && !other->has_ended() && !other->waits_in()) return;
  }
  process.trap_action.met_breakpoint();                      // perhaps one that isn't reported yet
  if (receiver.has_handler(SIGTRAP)) return give(receiver);  // none has reset it
  if (!sends_again(receiver)) give_as_it_is(receiver);
}

// Once the handler has been restored. False: it can't be.
bool Tracer::sends_again(Tracee& receiver) {
  receiver.replay->step = Step::kSent;
  if (!restore_trap_action(receiver)) return false;
  if (begins_call_again(receiver)) {
    receiver.replay->step = Step::kAwaitsCall;
    receiver.signal = 0;
    receiver.set_signal_mask(~uint64_t{0});
  } else {
    receiver.signal = SIGTRAP;
    receiver.set_signal_mask(~signal_bit(SIGTRAP));
  }
  receiver.go_on();
  return true;
}

bool Tracer::begins_call_again(Tracee& thread) {
  AddressSpace& space = *thread.process().space;
  arch::RegisterImage registers;
  return thread.read_registers(registers) && space.cpu().repeat_call(registers, space.memory()) &&
         thread.write_registers(registers);
}

// At the beginning or the end of the call. Some end without being interrupted: with a result, the signal still blocked.
void Tracer::answer_repeated_call(Tracee& thread) {
  if (thread.replays(Step::kAwaitsCall)) {
    thread.replay->step = Step::kInCall;
    thread.set_signal_mask(thread.replay->mask);
    thread.signal = SIGTRAP;
  } else if (!thread.has_pending_trap()) {
    return end_giving_to(thread);
  }
  resume(thread);
}

// It has ended, or can't make the call.
void Tracer::give_as_it_is(Tracee& thread) {
  end_giving(thread.process());
  const bool has_ended =
      std::ranges::any_of(unanswered_, [&thread](const ThreadNews& end) { return end.thread == thread.id(); });
  if (!has_ended) resume(thread);
}

void Tracer::play_again(Tracee& thread) {
  siginfo_t reason = thread.replay->reason;
  ptrace(PTRACE_SETSIGINFO, thread.id(), nullptr, &reason);
  if (thread.replays(Step::kSent)) thread.set_signal_mask(thread.replay->mask);
  give(thread);
}

// It stops once more at the beginning of the handler.
void Tracer::give(Tracee& thread) {
  thread.replay->step = Step::kGiven;
  thread.interrupt();
  answer_signal(thread, SIGTRAP);
}

// The thread has received it, or has exited. It stays stopped.
void Tracer::end_giving(TracedProcess& process) {
  const pid_t receiver = std::exchange(process.trap_receiver, 0);
  if (const auto known = threads_.find(receiver); known != threads_.end()) known->second->replay.reset();
  const std::vector<Tracee*> threads = threads_of(process);
  const auto next = std::ranges::find_if(
      threads, [](const Tracee* thread) { return thread->stopped && thread->replays(Step::kAwaitsOthers); });
  if (next != threads.end()) resume(**next);
  for (Tracee* thread : threads) {
    if (!thread->stopped || thread->at_end || thread->id() == receiver) continue;
    if (thread->signal == 0) restart_call(*thread);
    resume(*thread);
  }
}

// It stands at the beginning of the handler.
void Tracer::end_giving_to(Tracee& thread) {
  thread.replay.reset();
  end_giving(thread.process());
  resume(thread);
}

// At its end. A leader's exit isn't reported before those of all others, so they must not wait for it.
void Tracer::give_up_giving_to(Tracee& thread) {
  thread.replay.reset();
  if (thread.process().trap_receiver == thread.id()) end_giving(thread.process());
}

// sigaction(signal, action, before), at its beginning. Nothing is restored for it: other threads' breakpoints would reset
// that before the program reads it.
void Tracer::uses_action(Tracee& thread, const arch::RegisterImage& registers) {
  AddressSpace& space = *thread.process().space;
  uint64_t signal = 0;
  if (space.cpu().argument(registers, space.memory(), 0, signal) && (signal & kIntMask) == SIGTRAP)
    thread.action_call = {.stops_left = kMaxActionStops};
}

// syscall(number, signal, action, before, size), at its beginning.
void Tracer::uses_action_by_number(Tracee& thread, const arch::RegisterImage& registers) {
  AddressSpace& space = *thread.process().space;
  uint64_t number = 0;
  uint64_t signal = 0;
  if (space.cpu().signal_action_call() != 0 && space.cpu().argument(registers, space.memory(), 0, number) &&
      number == space.cpu().signal_action_call() && space.cpu().argument(registers, space.memory(), 1, signal) &&
      (signal & kIntMask) == SIGTRAP)
    thread.action_call = {.stops_left = kMaxActionStops};
}

// At the entry or the exit of a system call, after such a function's beginning.
void Tracer::answer_action_call(Tracee& thread, const arch::RegisterImage& registers) {
  const arch::Cpu& cpu = thread.process().space->cpu();
  arch::SignalActionCall call = thread.action_call.call;  // at its exit the result may have replaced the first argument
  if (thread.action_call.is_entered) return end_action_call(thread, call, cpu.result(registers) != 0);
  if (cpu.is_signal_action(registers, call) && (call.signal & kIntMask) == SIGTRAP) enter_action_call(thread, call);
}

// The new action counts from here: a breakpoint that resets it is reported later.
void Tracer::enter_action_call(Tracee& thread, const arch::SignalActionCall& call) {
  TracedProcess& process = thread.process();
  AddressSpace& space = *process.space;
  uint64_t handler = 0;
  thread.action_call = {.stops_left = kMaxActionStops, .is_entered = true, .call = call, .before = process.trap_action};
  // Its first word.
  if (call.action != 0 && arch::read_word(space.cpu(), space.memory(), call.action, handler))
    process.trap_action = TrapAction::of(handler);
}

void Tracer::end_action_call(Tracee& thread, const arch::SignalActionCall& call, bool has_failed) {
  TracedProcess& process = thread.process();
  AddressSpace& space = *process.space;
  const TrapAction before = std::exchange(thread.action_call, {}).before;
  if (has_failed) {
    if (call.action == 0) return;
    process.trap_action = before;
    return process.trap_action.met_breakpoint();
  }
  ThreadMemory memory(thread.id(), space.memory());
  uint64_t there = 0;
  if (call.before == 0 || !arch::read_word(space.cpu(), memory, call.before, there)) return;
  const uint64_t handler = handler_told(before, there);
  if (handler != there) write_word(space.cpu(), memory, call.before, handler);
}

// pthread_sigmask(how, set, before), at its beginning.
void Tracer::sets_mask(Tracee& thread, const arch::RegisterImage& registers) {
  AddressSpace& space = *thread.process().space;
  uint64_t how = 0;
  uint64_t set_at = 0;
  std::array<uint8_t, kMaskBytes> bytes{};
  const auto mask = thread.signal_mask();
  if (!mask || !space.cpu().argument(registers, space.memory(), 0, how) ||
      !space.cpu().argument(registers, space.memory(), 1, set_at) || set_at == 0 ||
      !space.memory().read(set_at, bytes.data(), bytes.size())) {
    return;
  }
  uint64_t set = 0;
  for (size_t i = 0; i < bytes.size(); ++i) set |= uint64_t{bytes[i]} << 8 * i;
  thread.trap_mask = TrapMask::of(mask_after_call(*mask, how & kIntMask, set));
}

// False: not possible.
bool Tracer::restore_trap_action(Tracee& thread) {
  TrapAction& action = thread.process().trap_action;
  if (!action.is_owed || action.is_unknown() || !call_for_action(thread, true)) return false;
  action.is_owed = false;
  return true;
}

void Tracer::learn_trap_action(Tracee& thread) {
  if (!thread.process().trap_action.is_unknown()) return;
  if (!call_for_action(thread, false)) thread.process().trap_action = {};  // it will be as breakpoints leave it
}

// The kernel's other data about the action (flags, mask) stays when a breakpoint resets the handler.
bool Tracer::call_for_action(Tracee& thread, bool restores) {
  TracedProcess& process = thread.process();
  arch::RegisterImage registers;
  if (!thread.stopped || thread.group_stopped || !thread.read_registers(registers)) return false;
  const arch::Cpu* const cpu = arch::cpu_of_registers(registers);
  if (cpu == nullptr) return false;
  process::TracedMemory memory(thread.id());
  InjectedCall call(thread.id(), *cpu, memory);
  const uint64_t number = cpu->signal_action_call();
  bool is_done = false;
  uint64_t handler = process.trap_action.handler;
  if (call.make(number, {SIGTRAP, 0, call.room(), kMaskBytes}) == 0) {
    if (restores) {
      is_done = write_word(*cpu, memory, call.room(), handler) &&
                call.make(number, {SIGTRAP, call.room(), 0, kMaskBytes}) == 0;
    } else {
      is_done = arch::read_word(*cpu, memory, call.room(), handler);
    }
  }
  if (call.end_status()) {
    unanswered_.push_back({.thread = thread.id(), .status = *call.end_status()});
    return false;
  }
  if (call.has_run()) thread.is_in_signal_stop = false;
  if (call.signal() != 0) thread.signal = call.signal();
  // What it was stopped in starts again by a stop in which the kernel looks after that.
  if (call.was_interrupted()) thread.interrupt();
  if (is_done && !restores) process.trap_action = TrapAction::of(handler);
  return is_done;
}

// Of a process that has met no breakpoint yet: the kernel's own. `maker`: that of the one whose handler it copied.
TrapAction Tracer::trap_action_before_breakpoints(const Tracee& thread, const TrapAction& maker) {
  if (thread.ignores(SIGTRAP)) return TrapAction::of(reinterpret_cast<uintptr_t>(SIG_IGN));
  if (!thread.has_handler(SIGTRAP)) return {};
  return {.kind = TrapAction::Kind::kHandled, .handler = maker.handler};
}

// Whether the program's previous handler is still unknown: it has to be read before the first breakpoint. That needs a
// thread that is stopped for a moment.
bool Tracer::awaits_trap_action(TracedProcess& process) {
  const std::vector<Tracee*> threads = threads_of(process);
  if (process.handler_asked_at == TracedProcess::Clock::time_point{}) {
    process.handler_asked_at = TracedProcess::Clock::now();
    const auto lives = std::ranges::find_if(threads, [](const Tracee* thread) { return !thread->has_ended(); });
    if (lives == threads.end()) return false;
    process.trap_action = trap_action_before_breakpoints(**lives, {});
    if (!process.trap_action.is_unknown()) return false;
    (*lives)->tells_action = true;
    (*lives)->interrupt();
  }
  return process.trap_action.is_unknown() && TracedProcess::Clock::now() - process.handler_asked_at < kLongestLearning;
}

// A thread stopped for that.
void Tracer::tell_trap_action(Tracee& thread) {
  learn_trap_action(thread);
  thread.was_asked = true;  // the call that it was stopped in starts again, once the kernel has looked at it
  thread.interrupt();
  thread.go_on();
}

// True: the thread is stopped once more, and can be detached then. A handler gets a signal with all that the kernel
// knows of it (its sender, its value) from the stop for its delivery alone, which passes when anything is restored.
bool Tracer::pays_before_leaving(Tracee& thread) {
  if (!thread.process().trap_action.is_owed || thread.group_stopped || thread.at_end) return false;
  if (thread.delivers(SIGTRAP)) return gives_before_leaving(thread);
  const bool comes_first = thread.delivers() && thread.has_handler(thread.signal);
  if (!comes_first && !thread.is_in_call_stop && !restore_trap_action(thread)) return false;
  if (!threads_.contains(thread.id())) return true;
  if (thread.signal != 0 && !comes_first) return false;
  thread.interrupt();
  thread.go_on();
  return true;
}

// Others don't reset its handler any more: the breakpoints are removed.
bool Tracer::gives_before_leaving(Tracee& thread) {
  if (thread.has_handler(SIGTRAP)) return false;
  siginfo_t reason{};
  const auto mask = thread.signal_mask();
  if (!mask || ptrace(PTRACE_GETSIGINFO, thread.id(), nullptr, &reason) != 0) return false;
  thread.replay = {.reason = reason, .mask = *mask, .step = Step::kSent};
  if (sends_again(thread)) return true;
  thread.replay.reset();
  return false;
}

// For one that executes another program: ignored signals stay ignored.
TrapAction Tracer::trap_action_after_exec(const TrapAction& before) {
  TrapAction after = before.kind == TrapAction::Kind::kIgnored ? before : TrapAction{};
  after.met_breakpoint();  // of a thread that has gone with its stop unreported
  return after;
}

}  // namespace heaptap::tracer
