#include "capture/uplink/switchboard.h"

#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <utility>

#include "capture/process/process_status.h"
#include "capture/uplink/passed_rows.h"
#include "common/base/descriptor_message.h"
#include "common/line/message_fields.h"
#include "common/line/session_name.h"
#include "common/message/message.h"

namespace heaptap::uplink {
namespace {

constexpr size_t kMaxCandidates = 16;
constexpr std::chrono::seconds kMaxHandshake{10};
constexpr size_t kMaxHeardBytes = size_t{4}
                                  << 10;   // before its session is known: a greeting and what may follow at once
constexpr size_t kMaxPeerNameBytes = 256;  // of a peer

const std::string kSessionMark(1, '\0');  // can't begin a program's name

// Whether a process is the session's own, or was started or traced by it.
bool is_of(pid_t session, uint64_t process) {
  if (session <= 0 || process > INT_MAX) return false;
  if (process == static_cast<uint64_t>(session)) return true;
  const auto status = process::read_thread_status(static_cast<pid_t>(process));
  if (!status) return false;
  if (status->parent == session) return true;
  const auto tracer = status->tracer > 0 ? process::read_thread_status(status->tracer) : std::nullopt;
  return tracer && (tracer->process == session || tracer->parent == session);
}

bool make_pair(int type, base::UniqueFd& one, base::UniqueFd& other) {
  std::array<int, 2> pair{};
  if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair.data()) != 0) return false;
  one.reset(pair[0]);
  other.reset(pair[1]);
  return true;
}

// Moves bytes from one connection to the other, as far as it accepts them.
void move_bytes(channel::Connection& from, channel::Connection& to, std::string& waiting) {
  constexpr int kMaxPieces = 16;
  std::vector<uint8_t> bytes;
  for (int i = 0; i < kMaxPieces; ++i) {
    if (waiting.empty()) {
      bytes.clear();
      if (from.read(bytes) == 0) return;
      waiting.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    waiting.erase(0, to.write(line::bytes_of(waiting)));
    to.flush();
    if (!waiting.empty()) return;
  }
}

}  // namespace

void SwitchedConnections::add_waits(std::vector<pollfd>& waits) const {
  if (switchboard_) waits.push_back({switchboard_.get(), POLLIN, 0});
}

std::optional<channel::Connection> SwitchedConnections::next(bool /*is_alone*/, line::TimePoint now) {
  if (!switchboard_) return std::nullopt;
  std::array<char, kMaxPeerNameBytes> peer{};
  base::UniqueFd descriptor;
  const ssize_t got = base::receive_message(switchboard_.get(), peer, descriptor, MSG_DONTWAIT);
  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) switchboard_.reset();
  if (got <= 0 || !descriptor) return std::nullopt;
  auto connection =
      channel::Connection::over(std::move(descriptor), channel::Role::kListener,
                                std::string(peer.data(), static_cast<size_t>(got)), std::nullopt, {}, now);
  return connection ? std::optional(*std::move(connection)) : std::nullopt;
}

void SwitchedConnections::tell_program(std::string_view name) const {
  if (!name.empty())
    (void)send(switchboard_.get(), name.data(), std::min(name.size(), kMaxPeerNameBytes), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void SwitchedConnections::tell_session(const std::string& name) {
  const std::string text = kSessionMark + name;
  if (switchboard_) (void)send(switchboard_.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void SwitchedConnections::tell_rows(const std::string& build_id, const model::RowTable& rows) const {
  if (build_id.size() > kMaxPeerNameBytes) return;
  if (const base::UniqueFd file = file_of(rows))
    (void)base::send_message(switchboard_.get(), build_id, file.get(), MSG_DONTWAIT);
}

void Switchboard::add_waits(std::vector<pollfd>& waits) const {
  connections_->add_waits(waits);
  for (const Candidate& candidate : candidates_) candidate.connection.add_waits(waits);
  for (const Session& session : sessions_) {
    if (!session.has_ended) waits.push_back({session.channel.get(), POLLIN, 0});
    for (const std::optional<Relay>* relay : {&session.relay, &session.next_relay}) {
      if (!*relay) continue;
      (*relay)->host.add_waits(waits, (*relay)->to_session.empty());
      (*relay)->session.add_waits(waits, (*relay)->to_host.empty());
    }
  }
}

std::optional<Switchboard::NewSession> Switchboard::next_session() {
  if (new_sessions_.empty()) return std::nullopt;
  NewSession session = std::move(new_sessions_.front());
  new_sessions_.pop_front();
  return session;
}

void Switchboard::begin(const std::string& session, pid_t process) {
  for (Session& each : sessions_) {
    if (each.name == session) each.process = process;
  }
}

std::vector<pid_t> Switchboard::processes() const {
  std::vector<pid_t> processes;
  for (const Session& session : sessions_) {
    if (session.process > 0) processes.push_back(session.process);
  }
  return processes;
}

std::string Switchboard::programs() const {
  std::string programs;
  for (const Session& session : sessions_) {
    if (!session.has_ended && !session.program.empty()) programs += (programs.empty() ? "" : ", ") + session.program;
  }
  return programs;
}

std::vector<line::LineNews> Switchboard::take_news() {
  std::vector<line::LineNews> news = refusals_.take();
  for (line::LineNews& each : connections_->take_news()) news.push_back(std::move(each));
  return news;
}

void Switchboard::take_candidates(line::TimePoint now) {
  connections_->proceed(now);
  while (candidates_.size() < kMaxCandidates) {
    auto connection = connections_->next(candidates_.empty() && sessions_.empty(), now);
    if (!connection) return;
    Candidate& candidate = candidates_.emplace_back(*std::move(connection), now);
    candidate.line.begin(now);
  }
}

void Switchboard::refuse(Candidate& candidate, std::string_view why, line::TimePoint now) {
  refusals_.add(candidate.connection.peer(), {std::string(why)}, now);
  candidate.line.refuse(why);
  const std::string text = candidate.line.take_outgoing(kMaxHeardBytes, now);
  candidate.connection.write(line::bytes_of(text));
  candidate.connection.end(now);
  candidate.is_refused = true;
}

void Switchboard::judge(Candidate& candidate, line::TimePoint now) {
  candidate.connection.proceed(now);
  candidate.is_over = candidate.connection.is_gone();
  if (candidate.is_over || candidate.is_refused) return;
  std::vector<uint8_t> bytes;
  candidate.connection.read(bytes);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  candidate.heard += text;
  candidate.line.receive(text, now);
  const std::optional<line::Greeting>& greeting = candidate.line.greeting();
  if (!greeting) {
    const bool makes_sense = candidate.line.is_sound() && candidate.heard.size() <= kMaxHeardBytes;
    candidate.is_over = !makes_sense || now - candidate.since > kMaxHandshake;
    if (!makes_sense) {
      refusals_.add(candidate.connection.peer(),
                    base::make_error("invalid data from the other side: not heaptap's protocol"), now);
    } else if (candidate.is_over) {
      refusals_.add(candidate.connection.peer(), base::make_error("no greeting in time"), now);
    }
    return;
  }
  if (const std::string why = why_not_spoken_with(*greeting); !why.empty()) return refuse(candidate, why, now);
  if (greeting->session.empty() && greeting->takes_over) return take_over(candidate, now);
  if (greeting->session.empty()) return make_session(candidate, now);
  const auto found = std::ranges::find(sessions_, greeting->session, &Session::name);
  if (found == sessions_.end() || found->has_ended) return refuse(candidate, "the recording there has ended", now);
  connect(*found, found->relay, candidate, now);
}

// Only for the host that began the recording, identified by its key. Whether that host is still alive is decided by the
// session, which has both connections during the check.
void Switchboard::take_over(Candidate& candidate, line::TimePoint now) {
  const uint64_t process = candidate.line.greeting()->process;
  std::vector<Session*> found;
  std::string all;
  for (Session& session : sessions_) {
    if (session.has_ended || session.host_key != candidate.connection.peer_key() || session.program.empty()) continue;
    all += base::make_error("{}{} ({})", all.empty() ? "" : ", ", session.process, session.program).message;
    if (process == 0 || is_of(session.process, process)) found.push_back(&session);
  }
  if (all.empty() && sessions_.empty()) return refuse(candidate, why_nothing_to_take_over(), now);
  if (all.empty()) return refuse(candidate, "all recordings there are for other hosts", now);
  if (found.empty())
    return refuse(candidate,
                  base::make_error("process {} is not recorded there for this host: {}", process, all).message, now);
  if (found.size() > 1)
    return refuse(candidate,
                  base::make_error("several recordings are running there; add the PID of one: {}", all).message, now);
  if (found[0]->next_relay) return refuse(candidate, "another host is taking it over", now);
  connect(*found[0], found[0]->next_relay, candidate, now);
}

void Switchboard::make_session(Candidate& candidate, line::TimePoint now) {
  if (!why_closed_.empty()) return refuse(candidate, why_closed_, now);
  if (sessions_.size() >= max_sessions_) {
    return refuse(candidate,
                  base::make_error("{} recordings are running there already, the maximum", max_sessions_).message, now);
  }
  Session session{.name = line::new_session_name(), .host_key = candidate.connection.peer_key(), .channel = {}};
  base::UniqueFd other;
  if (!make_pair(SOCK_SEQPACKET, session.channel, other))
    return refuse(candidate, base::make_error("no socket for another recording: {}", base::reason_of(errno)).message,
                  now);
  new_sessions_.push_back({session.name, std::move(other)});
  Session& made = sessions_.emplace_back(std::move(session));
  connect(made, made.relay, candidate, now);
}

void Switchboard::connect(Session& session, std::optional<Relay>& relay, Candidate& candidate, line::TimePoint now) {
  candidate.is_over = true;
  base::UniqueFd own;
  base::UniqueFd other;
  if (!make_pair(SOCK_STREAM, own, other)) return;
  const std::string_view peer = std::string_view(candidate.connection.peer()).substr(0, kMaxPeerNameBytes);
  if (base::send_message(session.channel.get(), peer.empty() ? "?" : peer, other.get(), MSG_DONTWAIT) < 0) return;
  auto inside = channel::Connection::over(std::move(own), channel::Role::kConnector, "", std::nullopt, {}, now);
  if (!inside) return;
  relay.emplace(std::move(candidate.connection), *std::move(inside), std::move(candidate.heard));
}

void Switchboard::pass_on(std::optional<Relay>& relay, line::TimePoint now) {
  if (!relay) return;
  relay->host.proceed(now);
  relay->session.proceed(now);
  move_bytes(relay->host, relay->session, relay->to_session);
  move_bytes(relay->session, relay->host, relay->to_host);
  if (relay->host.is_gone()) return relay.reset();
  // The session's process has closed its end: its last bytes are still sent.
  if (relay->session.is_gone() && relay->to_host.empty()) relay->host.end(now);
}

// The next host replaces the previous one. Names of sessions stay unique.
void Switchboard::rename(Session& session, std::string name) {
  if (name.size() != line::kSessionBytes || std::ranges::find(sessions_, name, &Session::name) != sessions_.end())
    return;
  session.name = std::move(name);
  if (session.next_relay) session.relay = std::exchange(session.next_relay, std::nullopt);
}

// Messages of a session's process: the name of its program, or a build-id with that object's rows.
void Switchboard::hear(Session& session) {
  constexpr int kMaxMessages = 64;
  for (int i = 0; i < kMaxMessages && !session.has_ended; ++i) {
    std::array<char, kMaxPeerNameBytes> said{};
    base::UniqueFd file;
    bool is_file_lost = false;
    const ssize_t got = base::receive_message(session.channel.get(), said, file, MSG_DONTWAIT, &is_file_lost);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    // It ended with unread data; reported once, before its own messages.
    if (got < 0 && errno == ECONNRESET) continue;
    session.has_ended = got <= 0;
    if (got <= 0) return;
    if (is_file_lost) continue;  // rows without a file descriptor for them here: requested again later
    const std::string text(said.data(), static_cast<size_t>(got));
    if (!file && text.starts_with(kSessionMark)) {
      rename(session, text.substr(kSessionMark.size()));
    } else if (!file) {
      session.program = text;
    } else if (auto rows = rows_in(file)) {
      rows_.keep(text, *std::move(rows));
    }
  }
}

// A session ends with its process.
void Switchboard::look_after(Session& session, line::TimePoint now) {
  hear(session);
  if (session.has_ended && session.process > 0 && waitpid(session.process, nullptr, WNOHANG) != 0) session.process = 0;
  pass_on(session.relay, now);
  pass_on(session.next_relay, now);
}

int Switchboard::longest_wait_ms() const {
  constexpr int kUsual = 1000;
  constexpr int kAtAnEnd = 10;
  return std::ranges::any_of(sessions_, &Session::has_ended) ? kAtAnEnd : kUsual;
}

void Switchboard::proceed(line::TimePoint now) {
  take_candidates(now);
  for (Candidate& candidate : candidates_) judge(candidate, now);
  std::erase_if(candidates_, [](const Candidate& candidate) { return candidate.is_over; });
  for (Session& session : sessions_) look_after(session, now);
  std::erase_if(sessions_, [](const Session& session) {
    return session.has_ended && session.process == 0 && !session.relay && !session.next_relay;
  });
}

}  // namespace heaptap::uplink
