#include "capture/tracer/tracer_client.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <thread>

#include "capture/tracer/guardian.h"
#include "capture/tracer/guardian_protection.h"
#include "capture/tracer/tracer_packet.h"
#include "common/arch/cpu.h"
#include "common/arch/native.h"
#include "common/base/unique_fd.h"
#include "common/base/wait_status.h"
#include "common/model/note_code.h"

namespace heaptap::tracer {
namespace {

using Clock = std::chrono::steady_clock;
// The tracer itself takes at most half of that, unless it is stuck.
constexpr std::chrono::seconds kLongestAnswer{10};
constexpr std::chrono::seconds kLongestEnd{6};

std::optional<TracerMessage> message_of(Packet& packet) {
  const PacketHeader& header = packet.header;
  switch (header.kind) {
    case PacketKind::kLogWanted:
      return LogWanted{header.process, header.parent, static_cast<LogWanted::Reason>(header.reason),
                       header.architecture, header.word_bytes};
    case PacketKind::kAttached:
      return Attached{header.process};
    case PacketKind::kNotAttached:
      return NotAttached{header.process, std::move(packet.text)};
    case PacketKind::kEnding:
      return Exiting{header.process, header.notice};
    case PacketKind::kAsked:
      return Asked{header.process, header.parent, static_cast<Asked::Kind>(header.reason), header.question,
                   std::move(packet.text)};
    case PacketKind::kLeft:
      return Left{header.process, static_cast<Left::Reason>(header.reason),
                  header.wait_status >= 0 ? std::optional(base::WaitStatus(header.wait_status)) : std::nullopt};
    case PacketKind::kNoted: {
      auto note = model::decode_note(packet.text);
      if (!note) return std::nullopt;
      return Noted{header.process, *std::move(note)};
    }
    case PacketKind::kPaused:
      return Paused{header.process, header.value};
    default:
      return std::nullopt;
  }
}

}  // namespace

struct TracerClient::State {
  base::UniqueFd socket;
  pid_t guardian = -1;
  bool closed = false;
  bool gone_told = false;
  std::deque<TracerMessage> waiting;  // arrived while an answer was awaited

  void tell(PacketKind kind, pid_t process) const {
    Packet packet;
    packet.header = {.kind = kind, .process = process};
    send_packet(socket.get(), packet, true);
  }

  // The next packet of one of these kinds about this process; others are kept. None: the tracer has exited, or doesn't
  // answer.
  std::optional<Packet> await(pid_t process, std::initializer_list<PacketKind> kinds) {
    const Clock::time_point end = Clock::now() + kLongestAnswer;
    while (!closed) {
      auto packet = receive_packet(socket.get(), false, closed);
      if (!packet && !closed && !wait_for_packet(end)) break;
      if (!packet) continue;
      for (const PacketKind kind : kinds) {
        if (packet->header.kind == kind && packet->header.process == process) return packet;
      }
      if (auto message = message_of(*packet)) waiting.push_back(std::move(*message));
    }
    return std::nullopt;
  }

  [[nodiscard]] bool wait_for_packet(Clock::time_point end) const {
    const auto rest = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    pollfd waits{socket.get(), POLLIN, 0};
    return rest.count() > 0 && poll(&waits, 1, static_cast<int>(rest.count())) != 0;
  }

  [[nodiscard]] base::Error no_answer() const {
    if (closed) return base::make_error("the tracer has ended");
    return base::make_error("the tracer (process {}) doesn't answer", guardian);
  }
};

base::Result<std::unique_ptr<TracerClient>> TracerClient::start(const TracerOptions& options) {
  if (!arch::is_traced_here(arch::native::kArchitecture)) {
    return base::fail(
        "no process can be recorded by ptrace on this CPU yet ({}): heaptap run records dynamic programs by the agent",
        wire::name_of(arch::native::kArchitecture));
  }
  HEAPTAP_TRY(check_guardian());
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) {
    return base::fail("can't make the tracer's socket: {}", base::reason_of(errno));
  }
  auto state = std::make_unique<State>();
  state->socket.reset(sockets[0]);
  const base::Result<pid_t> guardian = start_guardian(base::UniqueFd(sockets[1]), state->socket, options);
  if (!guardian) return std::unexpected(guardian.error());
  state->guardian = *guardian;
  return std::unique_ptr<TracerClient>(new TracerClient(std::move(state)));
}

std::unique_ptr<TracerClient> TracerClient::over(base::UniqueFd socket, pid_t process) {
  auto state = std::make_unique<State>();
  state->socket = std::move(socket);
  state->guardian = process;
  return std::unique_ptr<TracerClient>(new TracerClient(std::move(state)));
}

TracerClient::TracerClient(std::unique_ptr<State> state) : state_(std::move(state)) {}

TracerClient::~TracerClient() {
  state_->socket.reset();  // detaches from everything, then exits
  // If it can't yet (a traced process is frozen), it does so when it can, by itself.
  const Clock::time_point end = Clock::now() + kLongestEnd;
  constexpr std::chrono::milliseconds kPause{2};
  while (waitpid(state_->guardian, nullptr, WNOHANG) == 0 && Clock::now() < end) std::this_thread::sleep_for(kPause);
}

pid_t TracerClient::process() const { return state_->guardian; }
int TracerClient::descriptor() const { return state_->socket.get(); }

std::optional<TracerMessage> TracerClient::receive() {
  State& state = *state_;
  if (!state.waiting.empty()) {
    TracerMessage message = std::move(state.waiting.front());
    state.waiting.pop_front();
    return message;
  }
  while (!state.closed) {
    auto packet = receive_packet(state.socket.get(), false, state.closed);
    if (!packet) break;
    if (auto message = message_of(*packet)) return message;
  }
  if (!state.closed || state.gone_told) return std::nullopt;
  state.gone_told = true;
  // Its end of the line is closed by its end only.
  return TracerGone{base::wait_for(state.guardian).value_or(base::WaitStatus())};
}

base::Result<> TracerClient::attach_before_exec(pid_t process) {
  state_->tell(PacketKind::kAttachBeforeExec, process);
  const auto answer = state_->await(process, {PacketKind::kReady, PacketKind::kNotReady});
  if (!answer) return std::unexpected(state_->no_answer());
  if (answer->header.kind == PacketKind::kNotReady) return std::unexpected(base::Error{answer->text});
  return {};
}

void TracerClient::attach(pid_t process) { state_->tell(PacketKind::kAttach, process); }

void TracerClient::give_log(pid_t process, const log::LogMemory& log) {
  Packet packet;
  packet.header = {.kind = PacketKind::kGiveLog, .process = process};
  packet.header.value = log.bytes();
  send_packet(state_->socket.get(), packet, true, log.descriptor());
}

void TracerClient::refuse_log(pid_t process) { state_->tell(PacketKind::kRefuseLog, process); }
void TracerClient::detach(pid_t process) { state_->tell(PacketKind::kDetach, process); }
void TracerClient::detach_all() { state_->tell(PacketKind::kDetachAll, 0); }
void TracerClient::end_may_go_on(pid_t process, wire::ExitKind kind) {
  Packet packet;
  packet.header = {.kind = PacketKind::kEndMayGoOn, .process = process};
  packet.header.notice.kind = kind;
  send_packet(state_->socket.get(), packet, true);
}

void TracerClient::answer(const Answer& answer) {
  Packet packet;
  packet.header = {.kind = PacketKind::kAnswer, .process = answer.process};
  packet.header.value = static_cast<uint64_t>(answer.error);
  packet.header.question = answer.question;
  packet.header.counts = answer.counts;
  send_packet(state_->socket.get(), packet, true);
}

base::Result<process::StoppedProcess> TracerClient::hold(pid_t process) {
  State& state = *state_;
  state.tell(PacketKind::kHold, process);
  process::StoppedProcess::Held held;
  held.process = process;
  while (auto packet = state.await(process, {PacketKind::kHeldThread, PacketKind::kHeld, PacketKind::kNotHeld})) {
    if (packet->header.kind == PacketKind::kHeldThread) {
      held.threads.push_back(std::move(packet->thread));
    } else if (packet->header.kind == PacketKind::kNotHeld) {
      return std::unexpected(base::Error{packet->text});
    } else {
      held.architecture = packet->header.architecture;
      std::ranges::sort(held.threads, {}, &process::StoppedThread::thread_id);
      return process::StoppedProcess::held(std::move(held),
                                           [&state, process] { state.tell(PacketKind::kRelease, process); });
    }
  }
  if (!state.closed) state.tell(PacketKind::kRelease, process);  // whenever that happens
  return std::unexpected(state.no_answer());
}

}  // namespace heaptap::tracer
