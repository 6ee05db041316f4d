#include "apps/target/serve.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "apps/target/announcement.h"
#include "apps/target/session_user.h"
#include "apps/target/setup.h"
#include "capture/uplink/host_service.h"
#include "capture/uplink/line_to_host.h"
#include "capture/uplink/switchboard.h"
#include "capture/uplink/target_session.h"
#include "common/base/stop_signals.h"
#include "common/base/utc_text.h"
#include "common/line/record_order.h"

namespace heaptap::target {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMaxSessions = 16;

// Messages before the host's order are answered in the same way.
std::optional<message::Message> next_order(uplink::LineToHost& host) {
  while (auto message = host.next()) {
    if (message->kind == line::Kind::kRecord) return message;
    if (message->kind == line::Kind::kFarewell) host.say_farewell();
    if (message->number != 0) {
      uplink::answer(host.link().line(), message->number, base::fail("no recording yet"));
    }
  }
  return std::nullopt;
}

// The host has all data, or was gone for too long.
void see_off(uplink::LineToHost& host, std::chrono::nanoseconds orphan_timeout) {
  constexpr int kPauseMs = 50;
  while (!host.is_given_up() && base::stop_signals::requests() < 2) {
    host.wait(kPauseMs);
    (void)next_order(host);
    if (host.alone_since() && Clock::now() - *host.alone_since() > orphan_timeout) break;
  }
}

// Logs the order, its origin and the user it runs as: always.
void log_order(const std::string& host, const line::RecordOrder& order, const base::Result<>& verdict) {
  const std::string user = order.user.empty() ? " as user " + std::to_string(geteuid()) : "";
  log(base::utc_text(std::time(nullptr)) + " " + host + " " + (verdict ? "" : "was refused: ") +
      uplink::text_of(order) + user);
}

// Prints what is recorded.
using ProgramTeller = std::function<void(std::string_view)>;

base::Result<> serve_session(const uplink::TargetOptions& target, uplink::LineToHost& host,
                             const ProgramTeller& tell_program) {
  constexpr int kPauseMs = 200;
  std::optional<message::Message> message;
  while (!(message = next_order(host))) {
    if (host.has_left() || base::stop_signals::requests() > 0) return {};
    host.wait(kPauseMs);
    if (host.alone_since() && Clock::now() - *host.alone_since() > std::chrono::seconds(5)) return {};  // it left
  }
  const auto order = line::decode_order(message->fields);
  base::Result<> recorded = order ? target.policy.check(*order) : std::unexpected(order.error());
  if (order) log_order(host.link().peer(), *order, recorded);
  if (recorded) {
    tell_program(program_of(*order));
    recorded = uplink::record_for_host(*order, message->number, target, host);
  } else {
    uplink::answer(host.link().line(), message->number, recorded);
  }
  see_off(host, target.orphan_timeout);
  return recorded;
}

// Before any message of its host is read. False: impossible, and the session isn't created.
bool become_session_user(const std::optional<base::Account>& user) {
  if (!user) return true;
  const auto done = become(*user);
  if (!done) complain(done.error().message);
  return done.has_value();
}

// All of a session, until its host has all data. `is_one`: no other host can connect if this one fails.
void serve_host(const Options& options, const uplink::TargetOptions& target, uplink::LineToHost& host, bool is_one,
                const ProgramTeller& tell_program) {
  constexpr int kPauseMs = 200;
  host.set_teller([&options](const line::LineNews& news) { tell(options, news); });
  while (!host.has_session() && !host.is_cut_off() && base::stop_signals::requests() == 0) {
    host.wait(kPauseMs);
    if (is_one && host.has_lost_candidate()) break;
  }
  if (!host.has_session()) return;
  say(options, "host connected: " + host.link().peer());
  if (const auto done = serve_session(target, host, tell_program); !done) say(options, done.error().message);
  say(options, "the recording has ended");
}

base::Result<> go_to_host(const Options& options, const channel::Security& security,
                          const uplink::TargetOptions& target, const std::optional<base::Account>& user) {
  if (!become_session_user(user)) return base::fail("no recording");
  auto connections = go_to(options, security);
  if (!connections) return std::unexpected(std::move(connections).error());
  uplink::LineToHost host(*std::move(connections), buffer_bytes(options));
  do {
    serve_host(options, target, host, false, [](std::string_view) {});
    host.end_session();
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  } while (!options.once && base::stop_signals::requests() == 0);
  return {};
}

// Signals from a terminal reach the sessions' processes as well.
void hand_on_requests(const uplink::Switchboard& switchboard, int& handed_on) {
  for (; handed_on < base::stop_signals::requests_by_processes(); ++handed_on) {
    for (const pid_t process : switchboard.processes()) (void)kill(process, SIGTERM);
  }
}

// Sessions are separate processes. In such a one this returns at its end, as it does in the first one.
base::Result<> wait_for_hosts(const Options& options, const channel::Security& security,
                              const uplink::TargetOptions& target, const std::optional<base::Account>& user) {
  Announcement announcement;
  auto connections = listen(options, security, announcement);
  if (!connections) return std::unexpected(std::move(connections).error());
  std::optional<uplink::Switchboard> switchboard(std::in_place, *std::move(connections), kMaxSessions);
  int handed_on = 0;
  bool had_one = false;
  while (!switchboard->is_idle() || (base::stop_signals::requests() == 0 && !(options.once && had_one))) {
    std::vector<pollfd> waits;
    switchboard->add_waits(waits);
    announcement.add_waits(waits);
    poll(waits.data(), waits.size(), announcement.longest_wait_ms(switchboard->longest_wait_ms()));
    announcement.serve();
    if (base::stop_signals::requests() > 0) switchboard->close_to_new("heaptap-target is shutting down");
    switchboard->proceed(Clock::now());
    hand_on_requests(*switchboard, handed_on);
    for (const line::LineNews& news : switchboard->take_news()) tell(options, news);
    announcement.set_program(switchboard->programs());
    while (auto session = switchboard->next_session()) {
      had_one = true;
      if (options.once) switchboard->close_to_new("it makes one recording only (--once), which has begun");
      const pid_t process = fork();
      if (process == 0) {
        uplink::KeptRows rows = switchboard->take_rows();
        switchboard.reset();
        announcement.leave();
        if (!become_session_user(user)) return {};
        auto own = std::make_unique<uplink::SwitchedConnections>(std::move(session->connections));
        const uplink::SwitchedConnections& board = *own;
        uplink::LineToHost host(std::move(own), buffer_bytes(options), std::move(session->name));
        host.rows().begin_with(std::move(rows), [&board](const std::string& build_id, const model::RowTable& told) {
          board.tell_rows(build_id, told);
        });
        serve_host(options, target, host, true, [&board](std::string_view program) { board.tell_program(program); });
        return {};
      }
      if (process < 0) say(options, "can't start a process for another recording: " + base::reason_of(errno));
      switchboard->begin(session->name, process);
    }
  }
  return {};
}

}  // namespace

base::Result<> serve(const Options& options) {
  const auto security = security_of(options);
  if (!security) return std::unexpected(security.error());
  const auto user = session_user(options.user);
  if (!user) return std::unexpected(user.error());
  base::stop_signals::forward_to(0);  // from here on they end it when nothing is in progress any more
  const uplink::TargetOptions target = target_options(options);
  return options.command == Command::kConnect ? go_to_host(options, *security, target, *user)
                                              : wait_for_hosts(options, *security, target, *user);
}

}  // namespace heaptap::target
