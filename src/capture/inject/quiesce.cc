#include "capture/inject/quiesce.h"

#include <sched.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <string>
#include <utility>

#include "capture/inject/remote_thread.h"
#include "capture/inject/thread_choice.h"
#include "capture/inject/thread_verdict.h"
#include "capture/process/process_status.h"
#include "capture/process/ptrace_refusal.h"
#include "capture/process/thread_state.h"
#include "common/arch/native.h"
#include "common/base/process_file.h"
#include "common/base/small_file.h"
#include "common/base/status_file.h"

namespace heaptap::inject {
namespace {

constexpr std::chrono::milliseconds kSettlePatience{3000};
constexpr std::chrono::milliseconds kLastPatience{30'000};  // a stop that isn't taken would end the program
constexpr long kOptions = PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACESYSGOOD;

uint64_t status_mask(pid_t thread, const char* name) {
  const std::string status = base::read_small_file(base::process_file(thread, "status"), 8192);
  return base::status_number(status, name, 16).value_or(0);
}

bool has_pending_trap(pid_t thread) { return (status_mask(thread, "SigPnd") & tracer::signal_bit(SIGTRAP)) != 0; }

bool has_ended(pid_t thread) {
  const auto status = process::read_thread_status(thread);
  return !status || status->has_ended();
}

}  // namespace

bool is_code_at(const MemoryFile& memory, uint64_t site, const std::vector<uint8_t>& code) {
  std::vector<uint8_t> there(code.size());
  return memory.read(site, there.data(), there.size()) && there == code;
}

std::vector<pid_t> Quiesce::threads() const {
  std::vector<pid_t> ids;
  for (const auto& [id, thread] : threads_) ids.push_back(id);
  return ids;
}

base::Result<bool> Quiesce::seize_new() {
  bool found = false;
  for (const pid_t id : process::list_threads(process_)) {
    if (threads_.contains(id)) continue;
    if (ptrace(PTRACE_SEIZE, id, nullptr, kOptions) != 0) {
      const int reason = errno;
      if (reason == ESRCH || has_ended(id)) continue;
      const auto status = process::read_thread_status(id);
      if (!status || status->tracer == getpid()) continue;  // made by a traced one just now
      return std::unexpected(process::ptrace_refusal(process_, id, reason));
    }
    threads_[id].mask = tracer::TrapMask::of(status_mask(id, "SigBlk"));
    found = true;
  }
  return found;
}

base::Result<> Quiesce::seize() {
  for (bool found = true; found;) {
    const auto more = seize_new();
    if (!more) return std::unexpected(more.error());
    found = *more;
  }
  if (threads_.empty()) return base::fail("process {} has ended", process_);
  return {};
}

void Quiesce::ask(pid_t id, Thread& thread) {
  thread.was_asked = ptrace(PTRACE_INTERRUPT, id, nullptr, nullptr) == 0;
  if (thread.was_asked) ++figures_.interrupted;
}

// Where it is, and where its signal handlers will return to. (A red zone below the stack pointer has no frames.)
bool Quiesce::is_clean(uint64_t stack_pointer, uint64_t program_counter) const {
  if (inner_.empty()) return true;
  if (!is_outside(program_counter, inner_)) return false;
  const process::Mapping* const stack = process::find_mapping(map_, stack_pointer);
  if (stack == nullptr) return false;
  constexpr size_t kWords = 4096;
  std::vector<uint64_t> words(kWords);
  for (uint64_t at = (stack_pointer + 7) & ~uint64_t{7}; at < stack->range.end;) {
    const size_t wanted = static_cast<size_t>(std::min<uint64_t>(sizeof(uint64_t) * kWords, stack->range.end - at));
    const size_t got = memory_.read_some(at, words.data(), wanted) & ~size_t{7};
    if (got == 0) return false;
    const std::span<const uint64_t> piece = std::span(words).first(got / sizeof(uint64_t));
    if (has_interrupted(piece, inner_)) return false;
    const bool is_last = at + got >= stack->range.end || piece.size() < kInterruptedWords;
    at += got - (is_last ? 0 : (kInterruptedWords - 1) * sizeof(uint64_t));
    if (is_last) break;
  }
  return true;
}

// True: it is known to be safe, or gone.
bool Quiesce::look(pid_t id, Thread& thread) {
  if (thread.was_asked) return has_ended(id);
  const ThreadPlace place = read_thread_place(id);
  switch (judge_running(place, inner_)) {
    case Verdict::kGone:
      if (has_ended(id)) return true;
      ask(id, thread);
      return false;
    case Verdict::kSafe:
      thread.is_safe = is_clean(place.stack_pointer, place.program_counter);
      return thread.is_safe;
    case Verdict::kStop:
      ask(id, thread);
      return false;
  }
  return false;
}

// No child waits for its repair, or to be told of.
bool Quiesce::is_all_told() const {
  return early_.empty() && std::ranges::all_of(children_, [](const auto& child) { return child.second; });
}

bool Quiesce::settle(std::chrono::milliseconds patience) {
  const auto until = Clock::now() + patience;
  map_ = process::read_memory_map(process::find_live_thread(process_));
  for (auto& [id, thread] : threads_) thread.is_safe = false;
  for (unsigned round = 0;; ++round) {
    take_stops();
    bool all = true;
    for (auto& [id, thread] : threads_) {
      if (!thread.is_safe && !thread.is_held) all = look(id, thread) && all;
    }
    if (all && is_all_told()) {
      const auto more = seize_new();
      if (more && !*more) return true;
    }
    if (Clock::now() > until) return false;
    if (round < 64) {
      sched_yield();
    } else {
      usleep(50);
    }
  }
}

void Quiesce::take_stops() {
  int raw = 0;
  for (pid_t id = 0; (id = waitpid(-1, &raw, __WALL | WNOHANG)) > 0;) take_stop(id, base::WaitStatus(raw));
}

const Replacement* Quiesce::hit(pid_t id, arch::RegisterImage& registers) const {
  siginfo_t reason{};
  if (ptrace(PTRACE_GETSIGINFO, id, nullptr, &reason) != 0 || reason.si_code != SI_KERNEL) return nullptr;
  if (!process::read_registers(id, registers)) return nullptr;
  const arch::Cpu* const cpu = arch::cpu_of_registers(registers);
  if (cpu == nullptr) return nullptr;
  const uint64_t address = cpu->breakpoint_address(registers);
  const auto found = std::ranges::find(replacements_, address, &Replacement::site);
  return found == replacements_.end() ? nullptr : &*found;
}

// The kernel has unblocked the signal, where the thread blocked it. It goes on to a stop in which nothing is left of the signal: there, should
// this process be killed, it goes on from the site. One that is waited for doesn't stay here: its parent could be seen nowhere.
void Quiesce::take_breakpoint(pid_t id, Thread& thread, arch::RegisterImage& registers, const Replacement& at) {
  const bool goes_on = thread.is_waited_for && at.entry != 0;
  arch::cpu_of_registers(registers)->set_program_counter(registers, goes_on ? at.entry : at.site);
  process::write_registers(id, registers);
  uint64_t mask = 0;
  if (ptrace(PTRACE_GETSIGMASK, id, sizeof(mask), &mask) == 0 && tracer::blocked_before_trap(thread.mask, mask)) {
    mask |= tracer::signal_bit(SIGTRAP);
    ptrace(PTRACE_SETSIGMASK, id, sizeof(mask), &mask);
    thread.has_lost_action = !goes_on;  // it has actions of its own
  }
  thread.was_asked = false;
  if (goes_on) {
    ptrace(PTRACE_CONT, id, nullptr, nullptr);
    return;
  }
  ++figures_.held;
  thread.is_held = is_planted_;
  if (is_planted_ || thread.has_lost_action) ptrace(PTRACE_INTERRUPT, id, nullptr, nullptr);
  ptrace(PTRACE_CONT, id, nullptr, nullptr);
}

// In a stop that this process asked for. True: it is the one after a breakpoint, and the thread stays there.
bool Quiesce::stays_at_breakpoint(pid_t id, Thread& thread) const {
  if (std::exchange(thread.has_lost_action, false)) renew_trap_action(id);
  thread.is_stopped = thread.is_held;
  return thread.is_held;
}

void Quiesce::renew_trap_action(pid_t id) const {
  if (trap_action_.address == 0) return;
  auto thread = RemoteThread::of_stopped(id, trap_action_.code, memory_);
  if (!thread) return;
  thread->call(SYS_rt_sigaction, {SIGTRAP, trap_action_.address, 0, sizeof(uint64_t), 0, 0});
  std::move(*thread).leave_stopped();
}

void Quiesce::resume(pid_t id, Thread& thread, base::WaitStatus status) const {
  const bool is_group_stop = status.event() == PTRACE_EVENT_STOP && status.stop_signal() != SIGTRAP;
  const int signal = status.event() != 0 ? 0 : status.stop_signal();
  if (thread.was_asked) ptrace(PTRACE_INTERRUPT, id, nullptr, nullptr);  // any other stop has cancelled that
  ptrace(is_group_stop && !thread.was_asked ? PTRACE_LISTEN : PTRACE_CONT, id, nullptr, static_cast<long>(signal));
}

void Quiesce::take_child(pid_t id, int event) {
  unsigned long child = 0;
  if (ptrace(PTRACE_GETEVENTMSG, id, nullptr, &child) != 0 || child == 0) return;
  const auto new_id = static_cast<pid_t>(child);
  if (event == PTRACE_EVENT_FORK) {
    children_.try_emplace(new_id, false);
  } else {
    threads_[new_id].was_asked = true;  // it begins with a stop
    threads_[new_id].mask = threads_[id].mask;
    threads_[new_id].is_waited_for = event == PTRACE_EVENT_VFORK;
  }
  const auto early = early_.extract(new_id);
  if (!early.empty()) take_stop(new_id, early.mapped());
}

// It has a copy of the code as it was in the middle of this.
void Quiesce::repair_child(pid_t id) const {
  const MemoryFile memory(id);
  for (const Replacement& replacement : replacements_)
    memory.write(replacement.site, replacement.program.data(), replacement.program.size());
}

void Quiesce::take_stop(pid_t id, base::WaitStatus status) {
  if (!status.has_stopped()) {
    threads_.erase(id);
    children_.erase(id);
    early_.erase(id);
    return;
  }
  // A child may stop before it is told of, and before it is known whether it shares the memory.
  if (!threads_.contains(id) && !children_.contains(id)) {
    early_.insert_or_assign(id, status);
    return;
  }
  const int event = status.event();
  if (children_.contains(id)) {
    if (event == PTRACE_EVENT_STOP) repair_child(id);
    children_[id] = children_[id] || event == PTRACE_EVENT_STOP;
    Thread none;
    return resume(id, none, status);
  }
  Thread& thread = threads_[id];
  if (event == PTRACE_EVENT_STOP && stays_at_breakpoint(id, thread)) return;
  if (event == PTRACE_EVENT_STOP) {
    arch::RegisterImage registers;
    const arch::Cpu* const cpu = process::read_registers(id, registers) ? arch::cpu_of_registers(registers) : nullptr;
    thread.is_safe = cpu != nullptr && !has_pending_trap(id) &&
                     is_clean(cpu->stack_pointer(registers), cpu->program_counter(registers));
    if (thread.is_safe && cpu->restart_interrupted_call(registers)) process::write_registers(id, registers);
    thread.was_asked = false;  // if it has to be seen again, it is asked when it has gone on a little
    return resume(id, thread, status);
  }
  if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK || event == PTRACE_EVENT_CLONE) {
    take_child(id, event);
    return resume(id, thread, status);
  }
  arch::RegisterImage registers;
  const Replacement* const site = status.stop_signal() == SIGTRAP && event == 0 ? hit(id, registers) : nullptr;
  if (site != nullptr) return take_breakpoint(id, thread, registers, *site);
  resume(id, thread, status);
}

void Quiesce::note(Replaced replaced) const {
  if (replaced_ != nullptr) *static_cast<volatile Replaced*>(replaced_) = replaced;
}

void Quiesce::release_held() {
  for (auto& [id, thread] : threads_) {
    if (thread.is_stopped) ptrace(PTRACE_CONT, id, nullptr, nullptr);
    thread.is_held = thread.is_stopped = false;
  }
}

base::Result<> Quiesce::replace(const std::vector<Replacement>& replacements) {
  inner_.clear();
  if (!settle(kSettlePatience)) return refusal();  // what was made before is seen, and traced
  for (const Replacement& each : replacements) {
    if (!is_code_at(memory_, each.site, each.from))
      return base::fail("code of process {} has been changed by another program", process_);
  }
  return replace_planted(replacements);
}

// Where the code had been replaced halfway, nobody is behind a first byte. Where it hadn't, the bytes there are those that are put back.
base::Result<> Quiesce::put_back(const std::vector<Replacement>& replacements) {
  std::vector<Replacement> back = replacements;
  for (Replacement& each : back) each.to = each.from;
  inner_.clear();
  settle(kSettlePatience);
  return replace_planted(back);
}

std::unexpected<base::Error> Quiesce::refusal() const {
  return base::fail("a thread of process {} doesn't come to a point where its code can be replaced", process_);
}

base::Result<> Quiesce::replace_planted(const std::vector<Replacement>& replacements) {
  for (const Replacement& each : replacements) inner_.push_back(each.inner());
  replacements_ = replacements;
  const auto write_firsts = [&](auto byte_of) {
    bool all = true;
    for (const Replacement& each : replacements) {
      const uint8_t byte = byte_of(each);
      all = memory_.write(each.site, &byte, 1) && all;
    }
    return all;
  };
  is_planted_ = true;
  planted_at_ = Clock::now();
  note(Replaced::kPlanted);
  bool is_done = write_firsts([](const Replacement&) { return kBreakpointByte; }) && settle(kSettlePatience);
  if (is_done) {
    note(Replaced::kPartly);
    for (const Replacement& each : replacements)
      is_done = memory_.write(each.site + 1, each.to.data() + 1, each.to.size() - 1) && is_done;
    settle(kSettlePatience);  // so that every processor has seen them
  }
  for (const Replacement& each : replacements) {
    if (!is_done) memory_.write(each.site + 1, each.from.data() + 1, each.from.size() - 1);
  }
  note(is_done ? Replaced::kBehind : Replaced::kPlanted);
  write_firsts([is_done](const Replacement& each) { return is_done ? each.to[0] : each.from[0]; });
  is_planted_ = false;
  if (!is_done) note(Replaced::kNothing);
  release_held();
  figures_.longest_hold_ns = static_cast<uint64_t>(std::chrono::nanoseconds(Clock::now() - planted_at_).count());
  inner_.clear();
  settle(kLastPatience);
  figures_.threads = static_cast<uint32_t>(threads_.size());
  if (!is_done) return refusal();
  return {};
}

bool Quiesce::wait_until_left(const std::vector<base::AddressRange>& memory) {
  inner_ = memory;
  const bool have_left = settle(kSettlePatience);
  figures_.threads = static_cast<uint32_t>(threads_.size());
  return have_left;
}

}  // namespace heaptap::inject
