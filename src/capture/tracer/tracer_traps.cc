// SIGTRAP state of the program. Masks are corrected at each breakpoint. An action removed by breakpoints is restored
// only when needed: before a SIGTRAP of the program is delivered, before the program reads it, and at detach. Until
// then signals sent by a program reach this tracer first, as with any tracer.
#include <sys/ptrace.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "capture/tracer/injected_call.h"
#include "capture/tracer/tracer.h"
#include "capture/tracer/trap.h"

namespace heaptap::tracer {
namespace {

constexpr std::chrono::milliseconds kLongestLearning{500};
constexpr uint64_t kMaskBytes = 8;  // the kernel's

}  // namespace

// For a SIGTRAP that isn't from our breakpoints. True: handled completely.
bool Tracer::answer_program_trap(Tracee& thread) {
  const TracedProcess& process = thread.process();
  siginfo_t reason{};
  if (thread.replay || process.space == nullptr || process.phase != Phase::kTraced ||
      ptrace(PTRACE_GETSIGINFO, thread.id(), nullptr, &reason) != 0)
    return false;
  switch (delivery_of(process.trap_action, is_sent(reason.si_code), thread.trap_mask.blocks)) {
    case TrapDelivery::kAsItIs:
      return false;
    case TrapDelivery::kNot:
      resume(thread);
      return true;
    case TrapDelivery::kRestored:
      break;
  }
  const auto mask = thread.signal_mask();
  if (!mask || thread.process().trap_receiver != 0 || thread.process().is_held) return false;
  thread.replay = {.reason = reason, .mask = *mask, .is_sent = false, .is_given = false};
  thread.process().trap_receiver = thread.id();
  thread.signal = SIGTRAP;
  for (Tracee* other : threads_of(thread.process())) {
    if (stands_aside(*other) && !other->stopped) other->interrupt();
  }
  give_trap(thread.process());
  return true;
}

// Whether the thread is kept stopped while another one gets a SIGTRAP.
bool Tracer::stands_aside(const Tracee& thread) {
  const pid_t receiver = thread.process().trap_receiver;
  return receiver != 0 && receiver != thread.id() && thread.trap_mask.blocks && !thread.is_new;
}

// When all are stopped. The stop in which the signal was to be delivered has passed when the handler has been restored: it is
// sent again, before anything else, and stops once more at the beginning of the handler.
void Tracer::give_trap(TracedProcess& process) {
  const auto known = threads_.find(process.trap_receiver);
  if (known == threads_.end()) return end_giving(process);
  Tracee& receiver = *known->second;
  if (!receiver.replay || receiver.replay->is_sent || !receiver.stopped) return;
  for (const Tracee* other : threads_of(process)) {
    if (stands_aside(*other) && !other->stopped && !other->has_ended()) return;
  }
  receiver.replay->is_sent = true;
  restore_trap_action(receiver);
  receiver.set_signal_mask(~signal_bit(SIGTRAP));
  receiver.signal = SIGTRAP;
  receiver.go_on();
}

void Tracer::play_again(Tracee& thread) {
  siginfo_t reason = thread.replay->reason;
  ptrace(PTRACE_SETSIGINFO, thread.id(), nullptr, &reason);
  thread.set_signal_mask(thread.replay->mask);
  thread.replay->is_given = true;
  thread.interrupt();
  answer_signal(thread, SIGTRAP);
}

// The thread has received it, or has exited.
void Tracer::end_giving(TracedProcess& process) {
  if (const auto known = threads_.find(process.trap_receiver); known != threads_.end()) known->second->replay.reset();
  process.trap_receiver = 0;
  for (Tracee* thread : threads_of(process)) {
    if (!thread->stopped || !thread->trap_mask.blocks) continue;
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

// sigaction(number, action, before), at its beginning.
void Tracer::sets_action(Tracee& thread, const arch::RegisterImage& registers) {
  constexpr uint64_t kIntMask = 0xffffffff;
  TracedProcess& process = thread.process();
  AddressSpace& space = *process.space;
  uint64_t number = 0;
  uint64_t action = 0;
  uint64_t handler = 0;
  if (!space.cpu().argument(registers, space.memory(), 0, number) || (number & kIntMask) != SIGTRAP) return;
  if (process.trap_action.is_owed) restore_trap_action(thread);
  if (!space.cpu().argument(registers, space.memory(), 1, action) || action == 0) return;
  // Its first word, in all C libraries here.
  if (arch::read_word(space.cpu(), space.memory(), action, handler)) process.trap_action = TrapAction::of(handler);
}

// pthread_sigmask(how, set, before), at its beginning.
void Tracer::sets_mask(Tracee& thread, const arch::RegisterImage& registers) {
  constexpr uint64_t kIntMask = 0xffffffff;
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
      std::array<uint8_t, 8> word{};
      for (unsigned i = 0; i < cpu->word_bytes(); ++i) word[i] = static_cast<uint8_t>(handler >> 8 * i);
      is_done = memory.write(call.room(), word.data(), cpu->word_bytes()) &&
                call.make(number, {SIGTRAP, call.room(), 0, kMaskBytes}) == 0;
    } else {
      is_done = arch::read_word(*cpu, memory, call.room(), handler);
    }
  }
  if (call.end_status()) {
    unanswered_.emplace_back(thread.id(), *call.end_status());
    return false;
  }
  if (call.signal() != 0) thread.signal = call.signal();
  // What it was stopped in starts again by a stop in which the kernel looks after that.
  if (call.was_interrupted()) thread.interrupt();
  if (is_done && !restores) process.trap_action = TrapAction::of(handler);
  return is_done;
}

// Whether the program's previous handler is still unknown: it has to be read before the first breakpoint. That needs a
// thread that is stopped for a moment.
bool Tracer::awaits_trap_action(TracedProcess& process) {
  const std::vector<Tracee*> threads = threads_of(process);
  if (process.handler_asked_at == TracedProcess::Clock::time_point{}) {
    process.handler_asked_at = TracedProcess::Clock::now();
    const auto lives = std::ranges::find_if(threads, [](const Tracee* thread) { return !thread->has_ended(); });
    if (lives == threads.end()) return false;
    if ((*lives)->ignores(SIGTRAP)) process.trap_action = TrapAction::of(reinterpret_cast<uintptr_t>(SIG_IGN));
    if (!(*lives)->has_handler(SIGTRAP)) return false;
    process.trap_action.kind = TrapAction::Kind::kHandled;
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

// True: the thread is stopped once more, and can be detached then.
bool Tracer::pays_before_leaving(Tracee& thread) {
  if (!thread.process().trap_action.is_owed || thread.group_stopped || thread.at_end) return false;
  if (!thread.is_in_call_stop && !restore_trap_action(thread)) return false;
  if (!threads_.contains(thread.id())) return true;
  if (thread.signal != 0) return false;
  thread.interrupt();
  thread.go_on();
  return true;
}

// For one that executes another program: ignored signals stay ignored.
TrapAction Tracer::trap_action_after_exec(const TrapAction& before) {
  return before.kind == TrapAction::Kind::kIgnored ? before : TrapAction{};
}

}  // namespace heaptap::tracer
