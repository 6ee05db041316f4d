#include "capture/inject/injector.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <exception>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "capture/inject/agent_image.h"
#include "capture/inject/injection.h"
#include "capture/inject/thread_choice.h"
#include "capture/inject/thread_verdict.h"
#include "capture/log/exit_responder.h"
#include "capture/log/log_parts.h"
#include "capture/process/filter_look.h"
#include "capture/process/memory_map.h"
#include "capture/process/process_status.h"
#include "capture/process/process_watch.h"
#include "capture/process/stopped_process.h"
#include "capture/tracer/guardian_protection.h"
#include "capture/tracer/tracer_packet.h"
#include "common/arch/native.h"
#include "common/base/sizes.h"
#include "common/base/unique_fd.h"
#include "common/base/wait_status.h"
#include "common/model/note_code.h"

namespace heaptap::inject {
namespace {

using tracer::Packet;
using tracer::PacketKind;
using Left = tracer::Left;

constexpr int kTickMs = 50;
constexpr int kTickForEndsMs = 5;  // a program that waits at its end spins meanwhile
constexpr int kWakeSignal = SIGUSR1;

// One that is ending has none any more, some time before it has ended.
bool has_memory(pid_t process) { return !process::read_memory_map(process::find_live_thread(process)).empty(); }

// A log's memory as this process has mapped it.
class MappedLog {
 public:
  static std::optional<MappedLog> create(base::UniqueFd descriptor, size_t bytes) {
    void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor.get(), 0);
    if (memory == MAP_FAILED) return std::nullopt;
    return MappedLog(std::move(descriptor), memory, bytes);
  }
  ~MappedLog() {
    if (memory_ != nullptr) munmap(memory_, bytes_);
  }
  MappedLog(MappedLog&& other) noexcept
      : descriptor_(std::move(other.descriptor_)),
        memory_(std::exchange(other.memory_, nullptr)),
        bytes_(other.bytes_),
        parts_(other.parts_) {}
  MappedLog& operator=(MappedLog&&) = delete;

  [[nodiscard]] GivenLog given() const { return {descriptor_.get(), bytes_, &parts_}; }
  [[nodiscard]] wire::LogHeader& header() const { return *static_cast<wire::LogHeader*>(memory_); }

 private:
  MappedLog(base::UniqueFd descriptor, void* memory, size_t bytes)
      : descriptor_(std::move(descriptor)),
        memory_(memory),
        bytes_(bytes),
        parts_(*static_cast<wire::LogHeader*>(memory)) {}

  base::UniqueFd descriptor_;
  void* memory_;
  size_t bytes_;
  log::LogParts parts_;
};

struct Injected {
  std::unique_ptr<Injection> injection;
  process::ProcessWatch watch;
  std::optional<MappedLog> log = {};
  bool is_recorded = false;
  // Until it has settled.
  std::chrono::steady_clock::time_point next_try = {};
  std::chrono::milliseconds between_tries{kTickMs};
  std::optional<process::FilterLook> filters = {};  // until it has one
  std::optional<process::StoppedProcess> held = {};
  std::optional<wire::ExitNotice> ending = {};  // it waits at its end

  [[nodiscard]] bool has_end_to_watch() const {
    return is_recorded && (log->given().parts->flags & wire::kScanAtEnd) != 0;
  }
};

class Injector {
 public:
  Injector(int socket, const AgentImage& image) : socket_(socket), image_(image) {}

  void run() {
    while (!closed_) {
      pollfd wait{socket_, POLLIN, 0};
      poll(&wait, 1, waits_for_ends() ? kTickForEndsMs : kTickMs);
      while (auto packet = tracer::receive_packet(socket_, false, closed_)) obey(*packet);
      look_at_ends();
      look_after_processes();
    }
    leave_all();
  }

 private:
  void obey(Packet& packet) {
    const pid_t process = packet.header.process;
    switch (packet.header.kind) {
      case PacketKind::kAttach:
        return attach(process);
      case PacketKind::kGiveLog:
        return begin(packet);
      case PacketKind::kRefuseLog:
        processes_.erase(process);
        return;
      case PacketKind::kDetach:
        return leave(process, Left::Reason::kDetached);
      case PacketKind::kDetachAll:
        return leave_all();
      case PacketKind::kEndMayGoOn:
        return let_end(process);
      case PacketKind::kHold:
        return hold(process);
      case PacketKind::kRelease:
        if (const auto known = processes_.find(process); known != processes_.end()) known->second.held.reset();
        return;
      default:
        return;  // nothing that an injected agent asks for
    }
  }

  void attach(pid_t process) {
    if (processes_.contains(process)) return refuse(process, "it is being recorded already");
    auto left = Injection::find_leftover(process, image_);
    if (!left) return refuse(process, left.error().message);
    if (*left != nullptr) {
      if (const auto cleared = (*left)->clear(); !cleared) return refuse(process, cleared.error().message);
    }
    auto planned = Injection::plan(process, image_);
    if (!planned) return refuse(process, planned.error().message);
    processes_.emplace(process, Injected{.injection = *std::move(planned), .watch = process::ProcessWatch(process)});
    Packet wanted = about(PacketKind::kLogWanted, process);
    wanted.header.reason = static_cast<uint32_t>(tracer::LogWanted::Reason::kAttach);
    wanted.header.architecture = arch::native::kArchitecture;
    wanted.header.word_bytes = sizeof(void*);
    send(wanted);
  }

  void refuse(pid_t process, const std::string& why) {
    Packet refusal = about(PacketKind::kNotAttached, process);
    refusal.text = base::make_error("the agent can't be put into process {}: {}", process, why).message;
    send(refusal);
  }

  void begin(Packet& packet) {
    const pid_t process = packet.header.process;
    const auto known = processes_.find(process);
    if (known == processes_.end() || !packet.descriptor) return;
    Injected& injected = known->second;
    if (auto log = MappedLog::create(std::move(packet.descriptor), base::as_size(packet.header.value).value_or(0)))
      injected.log.emplace(*std::move(log));
    base::Result<> begun =
        injected.log ? injected.injection->put_in(injected.log->given()) : base::fail("no memory for its log");
    if (begun) {
      begun = injected.injection->patch();
      if (!begun) (void)try_often([&] { return injected.injection->take_out(); });
    }
    if (!begun) {
      const bool has_ended = injected.watch.has_ended();
      processes_.erase(known);
      return has_ended ? tell_left(process, Left::Reason::kEnded) : refuse(process, begun.error().message);
    }
    injected.is_recorded = true;
    injected.filters.emplace(process);
    injected.injection->answer_ends(true);
    settle(injected);
    send(about(PacketKind::kAttached, process));
    if (const std::string& why = injected.injection->why_plain(); !why.empty())
      note(process, base::make_error("operators new and delete are recorded as malloc and free: {}", why).message);
  }

  void hold(pid_t process) {
    const auto known = processes_.find(process);
    if (known == processes_.end()) return refuse_hold(process, base::make_error("process {} isn't recorded", process));
    Injected& injected = known->second;
    auto stopped = process::StoppedProcess::stop(process);
    auto threads = stopped ? threads_of(injected, *stopped) : std::unexpected(stopped.error());
    if (!threads) {
      if (injected.ending) log::decline_exit(injected.log->header());
      return refuse_hold(process, threads.error());
    }
    for (process::StoppedThread& thread : *threads) {
      Packet each = about(PacketKind::kHeldThread, process);
      each.thread = std::move(thread);
      send(each);
    }
    Packet held = about(PacketKind::kHeld, process);
    held.header.architecture = stopped->architecture();
    injected.held.emplace(*std::move(stopped));
    send(held);
  }

  // At its end the one that waits is as it came there.
  static base::Result<std::vector<process::StoppedThread>> threads_of(const Injected& injected,
                                                                      const process::StoppedProcess& stopped) {
    std::vector<process::StoppedThread> threads = stopped.threads();
    if (!injected.ending) return threads;
    constexpr uint64_t kMaxFramesBytes = 4096;  // of the agent's frames
    const wire::ExitNotice& ending = *injected.ending;
    const auto waiting = std::ranges::find_if(threads, [&](const process::StoppedThread& thread) {
      return thread.thread_id == ending.thread_id && injected.injection->is_agents(thread.program_counter) &&
             ending.waits_below - thread.stack_pointer < kMaxFramesBytes;
    });
    if (waiting == threads.end() || !log::waits_at_exit(injected.log->header()))
      return base::fail("no thread of process {} waits at its end", stopped.process());
    const auto came = injected.injection->as_it_came(*waiting, ending);
    if (!came) return base::fail("registers of process {} can't be read", stopped.process());
    *waiting = *came;
    return threads;
  }

  void refuse_hold(pid_t process, const base::Error& why) const {
    Packet refusal = about(PacketKind::kNotHeld, process);
    refusal.text = why.message;
    send(refusal);
  }

  [[nodiscard]] bool waits_for_ends() const {
    return std::ranges::any_of(processes_, [](const auto& each) { return each.second.has_end_to_watch(); });
  }

  void look_at_ends() {
    for (auto& [process, injected] : processes_) {
      if (!injected.has_end_to_watch()) continue;
      wire::LogHeader& log = injected.log->header();
      const auto offered = log::offered_exit(log);
      if (injected.ending || offered) log::show_progress(log);
      if (injected.ending || !offered) continue;
      const Offerer offerer = offerer_at(read_thread_place(static_cast<pid_t>(offered->thread_id)));
      if (offerer == Offerer::kUnknown) continue;
      const auto notice = log::take_exit_notice(log);
      if (!notice) continue;
      if (offerer == Offerer::kChild) {
        log::decline_exit(log);
        continue;
      }
      injected.ending = *notice;
      Packet ending = about(PacketKind::kEnding, process);
      ending.header.notice = *notice;
      if (notice->kind == wire::ExitKind::kSignal)
        ending.header.notice.live_sp = ending.header.notice.interrupted_sp =
            0;  // as of the thread, which is told as it was interrupted
      send(ending);
    }
  }

  void let_end(pid_t process) {
    const auto known = processes_.find(process);
    if (known == processes_.end() || !known->second.ending) return;
    known->second.ending.reset();
    log::finish_exit(known->second.log->header());
  }

  // Of what is recorded: has it ended, or executed another program?
  void look_after_processes() {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_look_) return;
    next_look_ = now + std::chrono::milliseconds(kTickMs);
    std::vector<std::pair<pid_t, Left::Reason>> gone;
    for (auto& [process, injected] : processes_) {
      if (!injected.is_recorded) continue;
      settle(injected);
      look_at_filters(injected);
      if (injected.watch.has_ended()) {
        gone.emplace_back(process, Left::Reason::kEnded);
      } else if (!injected.injection->is_there() && has_memory(process)) {
        gone.emplace_back(process, Left::Reason::kExecuted);
      }
    }
    for (const auto& [process, reason] : gone) {
      const auto status = reason == Left::Reason::kEnded ? processes_.at(process).watch.end_status() : std::nullopt;
      processes_.erase(process);
      tell_left(process, reason, status);
    }
  }

  // Tries it less often where no thread is there that could.
  static void settle(Injected& injected) {
    constexpr std::chrono::seconds kLongestBetween{10};
    const auto now = std::chrono::steady_clock::now();
    if (now < injected.next_try) return;
    if (injected.injection->settle()) {
      injected.next_try = std::chrono::steady_clock::time_point::max();
      return;
    }
    injected.next_try = now + injected.between_tries;
    injected.between_tries = std::min<std::chrono::milliseconds>(2 * injected.between_tries, kLongestBetween);
  }

  static void look_at_filters(Injected& injected) {
    if (!injected.filters || !injected.filters->finds_one()) return;
    injected.log->header().is_filtered.store(1, std::memory_order_relaxed);
    injected.filters.reset();
  }

  void leave(pid_t process, Left::Reason reason) {
    const auto known = processes_.find(process);
    if (known == processes_.end()) return;
    Injected& injected = known->second;
    injected.held.reset();
    injected.injection->answer_ends(false);
    let_end(process);
    const bool was_recorded = injected.is_recorded;
    if (was_recorded && injected.injection->is_there()) {
      const base::Result<> left = remove(*injected.injection);
      if (!left) note(process, left.error().message);
    }
    processes_.erase(known);
    if (was_recorded) tell_left(process, reason);
  }

  template <typename Step>
  static base::Result<> try_often(const Step& step) {
    base::Result<> done = step();
    for (int i = 1; i < kTries && !done; ++i) {
      usleep(kBetweenUs);
      done = step();
    }
    return done;
  }

  static base::Result<> remove(Injection& injection) {
    if (const auto done = try_often([&] { return injection.unpatch(); }); !done) {
      injection.give_back_traps();
      return base::fail(
          "the agent couldn't be taken out of process {}: {}; it records nothing more, and calls of the allocator "
          "still pass through it",
          injection.process(), done.error().message);
    }
    if (const auto done = try_often([&] { return injection.take_out(); }); !done) {
      return base::fail("the agent's memory stays mapped in process {}, unused: {}", injection.process(),
                        done.error().message);
    }
    return {};
  }

  void note(pid_t process, const std::string& what) const {
    Packet noted = about(PacketKind::kNoted, process);
    noted.text = model::encode(model::failure_note(what));
    send(noted);
  }

  void leave_all() {
    while (!processes_.empty()) leave(processes_.begin()->first, Left::Reason::kDetached);
  }

  void tell_left(pid_t process, Left::Reason reason, std::optional<base::WaitStatus> status = {}) {
    Packet left = about(PacketKind::kLeft, process);
    left.header.reason = static_cast<uint32_t>(reason);
    if (status) left.header.wait_status = status->raw();
    send(left);
  }

  static Packet about(PacketKind kind, pid_t process) {
    Packet packet;
    packet.header.kind = kind;
    packet.header.process = process;
    return packet;
  }

  void send(const Packet& packet) const { tracer::send_packet(socket_, packet, true); }

  static constexpr int kTries = 5;
  static constexpr useconds_t kBetweenUs = 1000;

  int socket_;
  const AgentImage& image_;
  bool closed_ = false;
  std::chrono::steady_clock::time_point next_look_{};
  std::map<pid_t, Injected> processes_;
};

}  // namespace

base::Result<std::unique_ptr<tracer::TracerClient>> start_injector(const std::string& agent) {
  HEAPTAP_TRY(tracer::check_guardian());
  const auto image = AgentImage::read(agent);
  if (!image) return std::unexpected(image.error());
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0)
    return base::fail("can't make the injector's socket: {}", base::reason_of(errno));
  base::UniqueFd own(sockets[0]);
  base::UniqueFd its(sockets[1]);
  const pid_t child = fork();
  if (child < 0) return base::fail("can't start the injector: {}", base::reason_of(errno));
  if (child != 0) return tracer::TracerClient::over(std::move(own), child);
  own.reset();
  tracer::protect_guardian(kWakeSignal);
  try {
    Injector(its.get(), *image).run();
  } catch (const std::exception&) {
    _exit(1);  // this is a forked copy of heaptap: nothing may return
  }
  _exit(0);
}

base::Result<> check_injectable(pid_t process, const std::string& agent) {
  const auto image = AgentImage::read(agent);
  if (!image) return std::unexpected(image.error());
  const auto planned = Injection::plan(process, *image);
  if (!planned) return std::unexpected(planned.error());
  return {};
}

}  // namespace heaptap::inject
