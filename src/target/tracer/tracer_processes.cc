// What heaptap says, and how processes begin, multiply and end.
#include <fcntl.h>
#include <linux/kcmp.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>
#include <utility>

#include "arch/thread_facts.h"
#include "target/process_status.h"
#include "target/tracer/tracer.h"

namespace heaptap::tracer {
namespace {

bool share_memory(pid_t a, pid_t b, int event) {
  const long differ = syscall(SYS_kcmp, a, b, KCMP_VM, 0, 0);
  return differ < 0 ? event == PTRACE_EVENT_VFORK : differ == 0;
}

std::string name_of(pid_t process) { return "process " + std::to_string(process); }

// Why seizing failed.
std::string why_refused(pid_t thread, int reason) {
  if (reason != EPERM) return name_of(thread) + " can't be traced: " + std::strerror(reason);
  const auto status = target::read_thread_status(thread);
  if (status && status->tracer != 0) {
    return name_of(thread) + " is traced by process " + std::to_string(status->tracer) +
           " already: end that first (a debugger, strace or another heaptap)";
  }
  return name_of(thread) +
         " can't be traced: not permitted; run heaptap as the same user or with sudo, and if it still is refused, "
         "allow it "
         "with: sudo sysctl -w kernel.yama.ptrace_scope=0";
}

// Null: the program is for a CPU that isn't known here.
const arch::Cpu* cpu_of_process(pid_t process) {
  const int file = open(("/proc/" + std::to_string(process) + "/exe").c_str(), O_RDONLY | O_CLOEXEC);
  uint8_t header[20] = {};
  const bool is_read = file >= 0 && pread(file, header, sizeof(header), 0) == sizeof(header);
  if (file >= 0) close(file);
  if (!is_read || std::memcmp(header, "\177ELF", 4) != 0) return nullptr;
  const bool big_endian = header[5] == 2;
  const auto machine = static_cast<uint16_t>(big_endian ? header[18] << 8 | header[19] : header[19] << 8 | header[18]);
  return arch::cpu_of_elf(machine, header[4] == 2 ? 8 : 4);
}

}  // namespace

void Tracer::read_packets() {
  bool closed = false;
  while (auto packet = receive_packet(socket_, false, closed)) obey(*packet);
  if (closed) leave_all();
}

void Tracer::obey(Packet& packet) {
  const pid_t process = packet.header.process;
  switch (packet.header.kind) {
    case PacketKind::kAttach:
      return attach(process);
    case PacketKind::kAttachBeforeExec:
      return attach_before_exec(process);
    case PacketKind::kGiveLog:
      return give_log(packet);
    case PacketKind::kRefuseLog:
      return refuse_log(process);
    case PacketKind::kDetach:
      if (TracedProcess* known = find_process(process)) leave(*known, Left::Reason::kDetached);
      return;
    case PacketKind::kDetachAll:
      return leave_all();
    case PacketKind::kEndMayGoOn:
      return end_may_go_on(process);
    case PacketKind::kHold:
      return hold(process);
    case PacketKind::kRelease:
      return release(process);
    default:
      return;
  }
}

void Tracer::attach(pid_t process) {
  if (const TracedProcess* known = find_process(process)) {
    // Another one that was attached to has made it meanwhile.
    if (known->was_recorded && known->phase == Phase::kTraced) tell(PacketKind::kAttached, process, "");
    if (!known->was_recorded) tell(PacketKind::kNotAttached, process, name_of(process) + " is being traced already");
    return;
  }
  const std::string error = try_to_attach(process);
  if (error.empty()) return;
  if (TracedProcess* known = find_process(process)) {
    known->was_recorded = false;
    leave(*known, Left::Reason::kFailed);
  }
  tell(PacketKind::kNotAttached, process, error);
}

// Threads run on all the while. One that isn't seized yet may make others, so the list is read until it holds no new one.
std::string Tracer::try_to_attach(pid_t process) {
  const auto status = target::read_thread_status(process);
  if (!status) return "there is no " + name_of(process);
  if (status->process != process) {
    return std::to_string(process) + " is a thread of process " + std::to_string(status->process) + ": name that";
  }
  if (target::find_live_thread(process) == 0) return name_of(process) + " has ended already";
  TracedProcess& added = add_process(process, 0, Phase::kWaitsForLog);
  bool found = true;
  while (found) {
    found = false;
    for (const pid_t id : target::list_threads(process)) {
      if (threads_.contains(id) || early_.contains(id)) continue;
      const int reason = Tracee::seize(id, options_.scan_at_end);
      if (reason == 0) {
        add_thread(id, added);
        found = true;
        continue;
      }
      const auto thread = target::read_thread_status(id);
      const bool is_ending = !thread || thread->has_ended();
      if (is_ending || thread->tracer == getpid()) continue;  // the second: a seized one made it just now
      return why_refused(id, reason);
    }
  }
  if (threads_of(added).empty()) return name_of(process) + " has ended";
  // Whichever thread was found first may have ended; the leader, if it lives, doesn't end so soon.
  want_log(added, LogWanted::Reason::kAttach, target::find_live_thread(process));
  if (find_process(process) == &added) attach_guests(added);
  return {};
}

// Children that run in its memory (vfork) and were made before: they would run into breakpoints, too.
void Tracer::attach_guests(TracedProcess& process) {
  for (const Tracee* thread : threads_of(process)) {
    const std::string task = "/proc/" + std::to_string(process.id) + "/task/" + std::to_string(thread->id());
    std::istringstream children(target::read_proc_file(task + "/children"));
    for (pid_t child = 0; children >> child;) {
      if (threads_.contains(child) || early_.contains(child)) continue;
      if (!share_memory(thread->id(), child, 0) || Tracee::seize(child, options_.scan_at_end) != 0) continue;
      TracedProcess& guest = add_process(child, process.id, Phase::kTraced);
      guest.is_guest = true;
      guest.space = process.space;
      const Tracee& added = add_thread(child, guest);
      if (share_memory(thread->id(), child, 0)) continue;
      // It executed another program meanwhile.
      guest.is_guest = false;
      guest.space = nullptr;
      guest.phase = Phase::kLeaving;
      added.interrupt();
    }
  }
}

void Tracer::attach_before_exec(pid_t process) {
  const int reason = Tracee::seize(process, options_.scan_at_end);
  if (reason == 0) add_thread(process, add_process(process, getppid(), Phase::kBeforeExec));
  tell(PacketKind::kReady, process, reason == 0 ? "" : why_refused(process, reason));
}

void Tracer::want_log(TracedProcess& process, LogWanted::Reason reason, pid_t thread) {
  process.phase = Phase::kWaitsForLog;
  process.reason = reason;
  const arch::Cpu* cpu = process.space != nullptr ? &process.space->cpu() : cpu_of_process(thread);
  if (cpu == nullptr) {
    const bool has_ended = target::find_live_thread(process.id) == 0;
    tell(PacketKind::kNotAttached, process.id,
         name_of(process.id) + (has_ended ? " has ended" : " runs code of a CPU that can't be traced here"));
    return leave(process, Left::Reason::kFailed);
  }
  if (process.space == nullptr) process.space = std::make_shared<AddressSpace>(thread, *cpu);
  Packet packet;
  packet.header = {.kind = PacketKind::kLogWanted, .process = process.id, .parent = process.parent};
  packet.header.reason = static_cast<uint32_t>(reason);
  packet.header.architecture = cpu->architecture();
  packet.header.word_bytes = cpu->word_bytes();
  process.was_recorded = true;
  send(packet);
}

void Tracer::give_log(Packet& packet) {
  TracedProcess* process = find_process(packet.header.process);
  void* memory = MAP_FAILED;
  const size_t bytes = packet.header.value;
  if (packet.descriptor >= 0) {
    memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, packet.descriptor, 0);
    close(packet.descriptor);
  }
  if (memory == MAP_FAILED) return refuse_log(packet.header.process);
  auto log = LogWriter::create(static_cast<wire::LogHeader*>(memory), bytes);
  if (process == nullptr || process->phase != Phase::kWaitsForLog || log == nullptr) {
    return refuse_log(packet.header.process);
  }
  process->phase = Phase::kTraced;
  process->space->start(std::move(log));
  for (const auto& [id, other] : processes_) {
    if (other->is_guest && other->space == process->space) other->phase = Phase::kTraced;
  }
  tell(PacketKind::kAttached, process->id, "");
  tell_notes(*process);
  for (Tracee* thread : threads_of(*process)) {
    if (thread->stopped) resume(*thread);
  }
}

void Tracer::refuse_log(pid_t process) {
  if (TracedProcess* known = find_process(process)) leave(*known, Left::Reason::kFailed);
}

void Tracer::tell_notes(TracedProcess& process) {
  for (const std::string& note : process.space->take_notes()) tell(PacketKind::kNoted, process.id, note);
}

// A thread, a fork, or a child that uses its parent's memory: which one, /proc says.
void Tracer::answer_child(Tracee& maker, int event) {
  unsigned long made = 0;
  if (ptrace(PTRACE_GETEVENTMSG, maker.id(), nullptr, &made) != 0) return;
  const auto id = static_cast<pid_t>(made);
  if (threads_.contains(id)) return;
  TracedProcess& process = maker.process();
  const auto status = target::read_thread_status(id);
  if (!status) {
    early_.erase(id);
    return;
  }
  Tracee* child = nullptr;
  if (status->process == process.id) {
    child = &add_thread(id, process);
  } else {
    TracedProcess& added = add_process(status->process, process.id, process.phase);
    added.is_guest = share_memory(maker.id(), id, event);
    if (added.is_guest) {
      added.space = process.space;
    } else {
      begin_copy(added, process);
    }
    child = &add_thread(id, added);
  }
  child->is_new = true;
  const auto early = early_.extract(id);
  if (!early.empty()) answer(id, early.mapped());
}

// Its text was copied with our breakpoints in it, whatever becomes of its parent until it first stops.
void Tracer::begin_copy(TracedProcess& child, const TracedProcess& original) {
  child.begins_as_copy = true;
  if (original.space == nullptr) return;
  child.space = std::make_shared<AddressSpace>(child.id, original.space->cpu());
  child.space->copy_from(*original.space);
}

// Children that the process made, and was killed before it could tell of them.
void Tracer::adopt_orphans(const TracedProcess& killed) {
  if (killed.space == nullptr || killed.is_guest) return;
  const std::unordered_map<pid_t, int> early = early_;
  for (const auto& [id, status] : early) {
    const auto facts = target::read_thread_status(id);
    TracedMemory memory(id);
    if (!facts || facts->process != id || !killed.space->breakpoints().are_all_in(memory)) continue;
    early_.erase(id);
    TracedProcess& added = add_process(id, killed.id, killed.phase);
    begin_copy(added, killed);
    add_thread(id, added).is_new = true;
    answer(id, status);
  }
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
  let_go(child);
}

void Tracer::answer_exec(pid_t id) {
  TracedProcess* process = find_process(id);
  if (process == nullptr) {  // made by one of ours that hasn't told of it yet
    early_[id] = PTRACE_EVENT_EXEC << 16 | SIGTRAP << 8 | 0x7f;
    return;
  }
  give_up_hold(*process, "it executed another program");
  // Of the thread that did it, which may have taken the leader's place, nothing is left but its number.
  for (Tracee* thread : threads_of(*process)) forget_thread(thread->id());
  Tracee& thread = add_thread(id, *process);
  thread.stopped = true;
  leave_memory(*process);
  const bool was_recorded = process->was_recorded;
  const bool starts = process->phase == Phase::kBeforeExec;
  const bool follows =
      options_.follow_exec && process->phase == Phase::kTraced && (!process->is_guest || options_.follow_fork);
  process->space = nullptr;
  process->is_guest = false;
  process->exit_call.reset();
  process->end_was_told = false;
  if ((starts || follows) && !closing_) {
    return want_log(*process, starts ? LogWanted::Reason::kStart : LogWanted::Reason::kExec, id);
  }
  process->phase = Phase::kLeaving;
  process->left_reason = Left::Reason::kExecuted;
  process->was_recorded = was_recorded;
  let_go(thread);
}

bool Tracer::tell_end(Tracee& thread, const wire::EndingNotice& notice) {
  TracedProcess& process = thread.process();
  if (process.end_was_told || process.phase != Phase::kTraced || process.is_guest || closing_) return false;
  process.end_was_told = true;
  process.ending = &thread;
  process.ending_kind = notice.kind;
  Packet packet;
  packet.header = {.kind = PacketKind::kEnding, .process = process.id};
  packet.header.notice = notice;
  packet.header.notice.thread_id = static_cast<uint32_t>(thread.id());
  send(packet);
  return true;
}

// exit says which part of the stack still matters; _exit is where nothing follows any more.
bool Tracer::answer_exit_call(Tracee& thread, const Site& site, const arch::RegisterImage& registers) {
  TracedProcess& process = thread.process();
  AddressSpace& space = *process.space;
  arch::CallPlace place;
  if (!options_.scan_at_end || process.is_guest || !space.cpu().call_place(registers, space.memory(), place)) {
    return false;
  }
  wire::EndingNotice notice{};
  notice.kind = wire::EndingKind::kDirectExit;
  notice.live_sp = notice.interrupted_sp = place.caller_stack_pointer;
  if (site.functions.front().watch == Watch::kLastExit) {
    const bool same_thread = process.exit_call && process.exit_call->thread_id == static_cast<uint32_t>(thread.id());
    return tell_end(thread, same_thread ? *process.exit_call : notice);
  }
  const int caller = space.objects().find(place.return_address);
  const bool by_libc = caller >= 0 && space.objects().objects()[static_cast<size_t>(caller)].is_libc;
  notice.kind = by_libc ? wire::EndingKind::kReturn : wire::EndingKind::kExit;
  notice.thread_id = static_cast<uint32_t>(thread.id());
  if (!process.exit_call) {
    process.exit_call = notice;
    target::read_stopped_thread(thread.id(), space.cpu(), process.exit_caller);
  }
  return false;
}

// Of a process that ends without a call of exit that was seen: by a system call of its own, or with its last thread. True: the
// thread waits.
bool Tracer::answer_thread_end(Tracee& thread) {
  TracedProcess& process = thread.process();
  thread.at_end = true;
  if (!options_.scan_at_end || process.end_was_told || process.phase != Phase::kTraced || process.is_guest)
    return false;
  if (!thread.ends_by_itself()) return false;
  const AddressSpace& space = *process.space;
  arch::RegisterImage registers;
  if (!thread.read_registers(registers) || !space.cpu().runs(registers)) return false;
  // A thread that executes another program ends all others, but isn't ended itself.
  const bool all_end =
      space.cpu().ends_all_threads(registers) || std::ranges::all_of(threads_of(process), [](const Tracee* other) {
        return other->at_end || other->is_being_killed() || other->has_ended();
      });
  constexpr std::chrono::milliseconds kSoon{20};
  const auto now = TracedProcess::Clock::now();
  if (now - process.thread_ended_at > kSoon) process.ended_threads = 0;
  if (!all_end) {
    process.thread_ended_at = now;
    ++process.ended_threads;
    return false;
  }
  if (process.ended_threads > 0) {
    tell(PacketKind::kNoted, process.id,
         "the program ended without a call of exit, and " + std::to_string(process.ended_threads) +
             " of its threads were gone when its memory was looked at: what only their stacks held is shown as lost");
  }
  wire::EndingNotice notice{};
  notice.kind = wire::EndingKind::kDirectExit;
  // In a function of the C library's nothing of its own is in use any more.
  const int caller = space.objects().find(space.cpu().program_counter(registers));
  const bool by_libc = caller >= 0 && space.objects().objects()[static_cast<size_t>(caller)].is_libc;
  const arch::ThreadFacts* facts = arch::thread_facts(space.cpu().architecture());
  const uint64_t red_zone = by_libc || facts == nullptr ? 0 : facts->red_zone_bytes;
  notice.live_sp = notice.interrupted_sp = space.cpu().stack_pointer(registers) - red_zone;
  return tell_end(thread, notice);
}

void Tracer::end_may_go_on(pid_t id) {
  TracedProcess* process = find_process(id);
  if (process == nullptr || process->ending == nullptr) return;
  Tracee& ending = *process->ending;
  process->ending = nullptr;
  if (!ending.at_end) resume(ending);
  threads_may_end(*process);
}

void Tracer::threads_may_end(const TracedProcess& process) {
  for (Tracee* thread : threads_of(process)) {
    if (thread->stopped && thread->at_end) resume(*thread);
  }
}

Tracee& Tracer::add_thread(pid_t id, TracedProcess& process) {
  return *threads_.insert_or_assign(id, std::make_unique<Tracee>(id, process)).first->second;
}

TracedProcess& Tracer::add_process(pid_t id, pid_t parent, Phase phase) {
  return *processes_.insert_or_assign(id, std::make_unique<TracedProcess>(id, parent, phase)).first->second;
}

TracedProcess* Tracer::find_process(pid_t id) {
  const auto known = processes_.find(id);
  return known == processes_.end() ? nullptr : known->second.get();
}

std::vector<Tracee*> Tracer::threads_of(const TracedProcess& process) {
  std::vector<Tracee*> result;
  for (const auto& [id, thread] : threads_) {
    if (&thread->process() == &process) result.push_back(thread.get());
  }
  return result;
}

void Tracer::send(const Packet& packet) { send_packet(socket_, packet); }

void Tracer::tell(PacketKind kind, pid_t process, const std::string& text) {
  Packet packet;
  packet.header = {.kind = kind, .process = process};
  packet.text = text;
  send(packet);
}

}  // namespace heaptap::tracer
