// Requests of heaptap, and the start and end of recordings.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "capture/process/process_status.h"
#include "capture/tracer/tracer.h"
#include "common/arch/thread_facts.h"
#include "common/base/process_file.h"
#include "common/base/served_files.h"
#include "common/base/unique_fd.h"

namespace heaptap::tracer {
namespace {

constexpr std::chrono::seconds kMaxUnwatched{2};
constexpr size_t kMaxUnsent = 100000;

struct Head {
  std::array<uint8_t, 20> bytes{};
  ssize_t got = -1;
  int error = 0;
};

// Head of its executable file, which a stopped process may serve itself.
Head read_head(pid_t thread) {
  const std::string path = base::process_file(thread, "exe");
  const auto look = [path] {
    Head head;
    const base::UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (file) head.got = pread(file.get(), head.bytes.data(), head.bytes.size(), 0);
    if (head.got < 0) head.error = errno;
    return head;
  };
  const auto head = base::ServedFiles::of_process().look<Head>({.viewer = thread, .path = path}, look);
  return head.value_or(Head{.error = ETIMEDOUT});
}

// Of the program executed by a thread of the process.
base::Result<const arch::Cpu*> cpu_of_process(pid_t process, pid_t thread) {
  const auto [header, got, error] = read_head(thread);
  if (got == std::ssize(header) && std::memcmp(header.data(), "\177ELF", 4) == 0) {
    const bool big_endian = header[5] == 2;
    const auto machine =
        static_cast<uint16_t>(big_endian ? header[18] << 8 | header[19] : header[19] << 8 | header[18]);
    const arch::Cpu* const cpu = arch::cpu_of_elf(machine, header[4] == 2 ? 8 : 4);
    if (cpu != nullptr && arch::is_traced_here(cpu->architecture())) return cpu;
  }
  if (process::find_live_thread(process) == 0) return base::fail("process {} has ended", process);
  if (error == 0) return base::fail("process {} runs code of a CPU that can't be traced here", process);
  return base::fail("process {} runs a program that can't be read here: {}", process, base::reason_of(error));
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
      return end_may_go_on(process, packet.header.notice.kind);
    case PacketKind::kAnswer:
      return take_answer(packet.header);
    case PacketKind::kHold:
      return hold(process);
    case PacketKind::kRelease:
      return release(process);
    default:
      return;
  }
}

void Tracer::want_log(TracedProcess& process, LogWanted::Reason reason, pid_t thread) {
  process.phase = Phase::kWaitsForLog;
  process.reason = reason;
  if (process.space == nullptr) {
    const base::Result<const arch::Cpu*> cpu = cpu_of_process(process.id, thread);
    if (!cpu) {
      tell(PacketKind::kNotAttached, process.id, cpu.error());
      return leave(process, Left::Reason::kFailed);
    }
    process.space = std::make_shared<AddressSpace>(thread, **cpu, options_.told ? &*options_.told : nullptr);
  }
  const arch::Cpu& cpu = process.space->cpu();
  Packet packet;
  packet.header = {.kind = PacketKind::kLogWanted, .process = process.id, .parent = process.parent};
  packet.header.reason = static_cast<uint32_t>(reason);
  packet.header.architecture = cpu.architecture();
  packet.header.word_bytes = cpu.word_bytes();
  process.was_recorded = true;
  send(std::move(packet));
  rlimit seconds{};
  const bool is_limited = prlimit(process.id, RLIMIT_CPU, nullptr, &seconds) == 0 && seconds.rlim_max != RLIM_INFINITY;
  if (is_limited) note(process.id, {.kind = model::NoteKind::kProcessorTimeLimited, .numbers = {seconds.rlim_max}});
}

void Tracer::refuse_log(pid_t process) {
  if (TracedProcess* known = find_process(process)) leave(*known, Left::Reason::kFailed);
}

void Tracer::tell_notes(TracedProcess& process) {
  for (const model::Note& each : process.space->take_notes()) note(process.id, each);
}

bool Tracer::tell_end(Tracee& thread, const wire::ExitNotice& notice) {
  TracedProcess& process = thread.process();
  if (process.end_was_told || process.phase != Phase::kTraced || process.is_vfork_child || closing_) return false;
  process.end_was_told = true;
  if (process.ending != nullptr) {
    process.next_ending = &thread;
    process.next_end = notice;
  } else {
    tell_ending(thread, notice);
  }
  return true;
}

void Tracer::tell_ending(Tracee& thread, const wire::ExitNotice& notice) {
  TracedProcess& process = thread.process();
  process.ending = &thread;
  process.exit_kind = notice.kind;
  Packet packet;
  packet.header = {.kind = PacketKind::kEnding, .process = process.id};
  packet.header.notice = notice;
  packet.header.notice.thread_id = static_cast<uint32_t>(thread.id());
  send(std::move(packet));
}

// Destructors and exit handlers will run. True: the thread waits.
bool Tracer::tell_exit_start(Tracee& thread) {
  TracedProcess& process = thread.process();
  if (process.end_was_told || process.ending != nullptr || process.phase != Phase::kTraced || closing_) return false;
  if (!process.space->has_cpp()) return false;
  wire::ExitNotice notice = *process.exit_call;
  notice.kind = wire::ExitKind::kExitBegins;
  tell_ending(thread, notice);
  return true;
}

// exit defines the live part of the stack; after _exit nothing is live.
bool Tracer::answer_exit_call(Tracee& thread, const Site& site, const arch::RegisterImage& registers) {
  TracedProcess& process = thread.process();
  AddressSpace& space = *process.space;
  arch::CallPlace place;
  if (!options_.scan_at_end || process.is_vfork_child || !space.cpu().call_place(registers, space.memory(), place)) {
    return false;
  }
  wire::ExitNotice notice{};
  notice.kind = wire::ExitKind::kDirectExit;
  notice.live_sp = notice.interrupted_sp = place.caller_stack_pointer;
  if (site.functions.front().watch == Watch::kLastExit) {
    const bool same_thread = process.exit_call && process.exit_call->thread_id == static_cast<uint32_t>(thread.id());
    return tell_end(thread, same_thread ? *process.exit_call : notice);
  }
  const int caller = space.objects().find(place.return_address);
  const bool by_libc = caller >= 0 && space.objects().objects()[static_cast<size_t>(caller)].is_libc;
  notice.kind = by_libc ? wire::ExitKind::kReturn : wire::ExitKind::kExit;
  notice.thread_id = static_cast<uint32_t>(thread.id());
  if (!process.exit_call) {
    process.exit_call = notice;
    process::read_stopped_thread(thread.id(), space.cpu(), process.exit_caller);
    return tell_exit_start(thread);
  }
  return false;
}

// For a process that exits without a visible call of exit: by its own system call, or with its last thread. True: the
// thread waits.
bool Tracer::answer_thread_end(Tracee& thread) {
  TracedProcess& process = thread.process();
  thread.at_end = true;
  if (!options_.scan_at_end || process.end_was_told || process.phase != Phase::kTraced || process.is_vfork_child)
    return false;
  if (!thread.ends_by_itself()) return false;
  const AddressSpace& space = *process.space;
  arch::RegisterImage registers;
  if (!thread.read_registers(registers) || !space.cpu().runs(registers)) return false;
  // A thread that executes another program ends all others, but not itself.
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
    note(process.id, {.kind = model::NoteKind::kThreadsGoneAtEnd, .numbers = {process.ended_threads}});
  }
  wire::ExitNotice notice{};
  notice.kind = wire::ExitKind::kDirectExit;
  // In a function of the C library the program's own red zone isn't in use any more.
  const int caller = space.objects().find(space.cpu().program_counter(registers));
  const bool by_libc = caller >= 0 && space.objects().objects()[static_cast<size_t>(caller)].is_libc;
  const arch::ThreadFacts* facts = arch::thread_facts(space.cpu().architecture());
  const uint64_t red_zone = by_libc || facts == nullptr ? 0 : facts->red_zone_bytes;
  notice.live_sp = notice.interrupted_sp = space.cpu().stack_pointer(registers) - red_zone;
  return tell_end(thread, notice);
}

void Tracer::end_may_go_on(pid_t id, wire::ExitKind kind) {
  TracedProcess* process = find_process(id);
  if (process == nullptr || process->ending == nullptr || process->exit_kind != kind) return;
  Tracee& ending = *process->ending;
  process->ending = nullptr;
  if (!ending.at_end) resume(ending);
  tell_next_ending(*process);
  threads_may_end(*process);
}

// Of a thread that ends the process while another waits for the scan where exit begins.
void Tracer::tell_next_ending(TracedProcess& process) {
  Tracee* thread = std::exchange(process.next_ending, nullptr);
  if (thread != nullptr) tell_ending(*thread, process.next_end);
}

void Tracer::threads_may_end(const TracedProcess& process) {
  for (Tracee* thread : threads_of(process)) {
    if (thread->stopped && thread->at_end) resume(*thread);
  }
}

Tracee& Tracer::add_thread(pid_t id, TracedProcess& process) {
  if (id != process.id) process.had_threads = true;
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

// While something is awaited that no stop reports.
void Tracer::adapt_ticks() {
  const bool is_anything = std::ranges::any_of(
      processes_, [](const auto& known) { return known.second->is_stopping || known.second->log != nullptr; });
  const bool wants = closing_ || !early_.empty() || !ended_clone_parents_.empty() || !unsent_.empty() || is_anything ||
                     awaits_heaptap();
  if (wants == std::exchange(ticks_, wants)) return;
  heaptap_ran_at_ = TracedProcess::Clock::now();  // as far as is known
  request_signal_.want_ticks(wants);
}

void Tracer::send(Packet packet) {
  unsent_.push_back(std::move(packet));
  send_unsent();
  adapt_ticks();
}

void Tracer::send_unsent() {
  while (!unsent_.empty() && send_packet(socket_, unsent_.front(), false) != Sent::kLater) unsent_.pop_front();
}

// Whether anything is stopped until heaptap answers.
bool Tracer::awaits_heaptap() const {
  return has_questions() ||
         std::ranges::any_of(processes_, [](const auto& known) { return known.second->awaits_heaptap(); });
}

// A stopped heaptap (SIGSTOP) is not waited for: traced programs continue without it.
void Tracer::look_after_heaptap() {
  send_unsent();
  give_up_questions(false);
  const auto now = TracedProcess::Clock::now();
  const bool is_needed = awaits_heaptap() || unsent_.size() >= kMaxUnsent;
  const auto status = is_needed ? process::read_thread_status(heaptap_) : std::nullopt;
  if (!status || status->state != 'T') heaptap_ran_at_ = now;
  if (now - heaptap_ran_at_ < kMaxUnwatched) return;
  if (unsent_.size() >= kMaxUnsent) return leave_all();
  give_up_questions(true);
  std::vector<pid_t> waiting;
  for (const auto& [id, process] : processes_) {
    if (process->awaits_heaptap()) waiting.push_back(id);
  }
  for (const pid_t id : waiting) {
    TracedProcess* process = find_process(id);
    if (process == nullptr) continue;
    process->ending != nullptr ? end_may_go_on(id, process->exit_kind) : leave(*process, Left::Reason::kFailed);
  }
}

void Tracer::tell(PacketKind kind, pid_t process, const std::string& text) {
  Packet packet;
  packet.header = {.kind = kind, .process = process};
  packet.text = text;
  send(std::move(packet));
}

}  // namespace heaptap::tracer
