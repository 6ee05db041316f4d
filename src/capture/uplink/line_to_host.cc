#include "capture/uplink/line_to_host.h"

#include <algorithm>
#include <utility>

#include "capture/stream/scan_bytes.h"
#include "capture/uplink/stream_replay.h"
#include "common/base/intervals.h"
#include "common/base/units.h"
#include "common/line/line_messages.h"
#include "common/line/message_fields.h"
#include "common/line/session_name.h"

namespace heaptap::uplink {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kMaxGreeting{10};
// Limits for messages queued while another one is awaited: a host's requests are small.
constexpr size_t kMaxKeptMessages = 1000;
constexpr size_t kMaxKeptBytes = size_t{1} << 20;
constexpr size_t kCaughtUpBytes = size_t{64} << 10;  // more unacknowledged bytes mean a slow line
constexpr std::chrono::seconds kLongestSilence{1};   // before a wait is reported

class Asking {
 public:
  explicit Asking(bool& is_asking) : is_asking_(is_asking) { is_asking_ = true; }
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;
  ~Asking() { is_asking_ = false; }

 private:
  bool& is_asking_;
};

}  // namespace

LineToHost::LineToHost(std::unique_ptr<ConnectionSource> connections, size_t max_kept_bytes, std::string session)
    : connections_(std::move(connections)),
      max_kept_bytes_(max_kept_bytes),
      next_session_(std::move(session)),
      link_(max_kept_bytes) {}

LineToHost::LineToHost(std::unique_ptr<SwitchedConnections> connections, size_t max_kept_bytes, std::string session)
    : LineToHost(std::unique_ptr<ConnectionSource>(), max_kept_bytes, std::move(session)) {
  board_ = connections.get();
  connections_ = std::move(connections);
}

void LineToHost::add_waits(std::vector<pollfd>& waits) const {
  connections_->add_waits(waits);
  if (companion_ != nullptr) companion_->add_waits(waits);
  candidate_.add_waits(waits);
  link_.add_waits(waits);
}

void LineToHost::begin_own_session() {
  link_.line().set_session(line::new_session_name());
  is_own_session_ = true;
}

void LineToHost::end_session() {
  candidate_.drop("");
  link_ = line::Link(max_kept_bytes_);
  rows_.begin_session();
  functions_.begin_session();
  alone_since_.reset();
  has_left_ = is_given_up_ = is_own_session_ = has_met_host_ = has_new_host_ = false;
  kept_.clear();
  kept_bytes_ = 0;
  files_.end();
}

void LineToHost::want_functions(const line::FunctionRequest& request) {
  const std::optional<line::Greeting>& host = link_.line().greeting();
  if (host && host->minor >= line::kFunctionsSinceMinor) functions_.want(link_.line(), request);
}

// The next message other than requests for files.
std::optional<message::Message> LineToHost::receive() {
  while (auto message = link_.line().next()) {
    if (!files_.take(*message)) return message;
    send_file();
    link_.proceed(Clock::now());  // the host requests the next piece once it has this one
  }
  return std::nullopt;
}

// Files have a lower priority than events: a piece is sent when the host has nearly everything else.
void LineToHost::send_file() {
  constexpr size_t kNearlyNothing = size_t{64} << 10;
  if (!files_.is_asked() || link_.line().kept_bytes() > kNearlyNothing) return;
  link_.line().send(line::message_of(*files_.answer()));
}

std::optional<message::Message> LineToHost::next() {
  if (kept_.empty()) return receive();
  message::Message message = std::move(kept_.front());
  kept_.pop_front();
  kept_bytes_ -= message.fields.bytes().size();
  return message;
}

// Queues a message received while another one was awaited. True: it ends that wait.
bool LineToHost::keep(message::Message message) {
  if (message.kind == line::Kind::kRows) {  // possibly many; stored at once
    rows_.take(message.fields);
    return false;
  }
  if (message.kind == line::Kind::kFunctions) {
    functions_.take(message.fields);
    return false;
  }
  const bool asks_for_end = message.kind == line::Kind::kDetach || message.kind == line::Kind::kFarewell;
  kept_bytes_ += message.fields.bytes().size();
  kept_.push_back(std::move(message));
  if (kept_.size() > kMaxKeptMessages || kept_bytes_ > kMaxKeptBytes) give_up();
  return asks_for_end;
}

// A short loss of the connection doesn't end a wait.
bool LineToHost::may_be_there(line::TimePoint now) const {
  constexpr std::chrono::seconds kLongestBreak{3};  // the other end reconnects at once
  return !is_given_up() && (!alone_since_ || now - *alone_since_ < kLongestBreak);
}

// Receives messages until `take` returns true.
void LineToHost::receive_while(const std::function<bool()>& goes_on,
                               const std::function<bool(message::Message)>& take) {
  while (goes_on() && may_be_there(Clock::now())) {
    while (auto message = receive()) {
      if (take(*std::move(message))) return;
    }
    if (!is_given_up()) wait(line::kPauseMs);
  }
}

std::optional<message::Message> LineToHost::await(message::Number kind, uint64_t stream,
                                                  const std::function<bool()>& goes_on) {
  std::optional<message::Message> found;
  receive_while(goes_on, [&](message::Message message) {
    const bool is_it = message.kind == kind && line::stream_in(message.fields) == stream;
    if (!is_it) return keep(std::move(message));
    found = std::move(message);
    return true;
  });
  return found;
}

bool LineToHost::wait_until(const std::function<bool()>& is_so) {
  line::WaitBudget wait_budget(wait_budget_, link_.line(), Clock::now());
  const Asking asking(is_asking_);
  bool is_so_now = false;
  const auto goes_on = [&] {
    is_so_now = is_so();
    return !is_so_now && !wait_budget.is_over(Clock::now()) && !wait_budget.is_interrupted();
  };
  receive_while(goes_on, [this](message::Message message) { return keep(std::move(message)); });
  return is_so_now;
}

void LineToHost::take_answers(const std::function<bool()>& is_awaited, line::TimePoint until) {
  receive_while([&] { return is_awaited() && Clock::now() < until; },
                [this](message::Message message) { return keep(std::move(message)); });
}

base::Result<stream::LiveBlocks> LineToHost::live_blocks(uint64_t stream, uint64_t events,
                                                         std::optional<ExitWait> exit_wait,
                                                         const std::function<void()>& meanwhile) {
  const bool is_optional = exit_wait && exit_wait->is_optional;
  if (is_optional && (!link_.is_up() || link_.line().kept_bytes() > kCaughtUpBytes))
    return base::fail("no leak scan: the connection is slow");
  if (is_own_session_ && !link_.is_up() && link_.line().keeps_all()) {
    StreamReplay replay(stream);
    message::MessageReader reader(line::kMaxMessageBytes);
    for (const std::string& bytes : link_.line().kept()) {
      reader.add(bytes);
      if (const auto message = reader.next()) replay.take(*message);
    }
    return replay.finish();
  }
  // Another ending process has waited for this slow line already.
  was_late_ = was_late_ && link_.line().kept_bytes() > kCaughtUpBytes;
  if (exit_wait && was_late_)
    return base::fail("no leak scan: the connection is slow, and another process has waited for it without success");
  send(line::message_of(line::BlocksWanted{.stream = stream, .question = ++questions_}));
  const line::TimePoint since = Clock::now();
  line::PatienceLimits limits = wait_budget_;
  if (exit_wait) limits.in_all = std::min(limits.in_all, exit_wait->longest);
  line::WaitBudget wait_budget(limits, link_.line(), since);
  bool is_told = !exit_wait || is_optional;
  const auto goes_on = [&] {
    meanwhile();
    if (!is_told &&
        Clock::now() - since > std::min<std::chrono::nanoseconds>(kLongestSilence, exit_wait->longest / 2)) {
      is_told = true;
      tell_of_wait(exit_wait->longest);
    }
    return !wait_budget.is_over(Clock::now()) && !wait_budget.is_interrupted();
  };
  const Asking asking(is_asking_);
  stream::LiveBlocks live;
  uint64_t count = 0;  // blocks and unsettled ones: each belongs to an event
  bool more = true;
  while (more) {
    const auto message = await(line::Kind::kBlocks, stream, goes_on);
    if (!message && exit_wait) {
      was_late_ = !is_optional;
      return base::fail(
          "no leak scan: the connection is slow, and the process didn't wait any longer for the host before it ended; "
          "raise heaptap-target --exit-wait");
    }
    if (!message) return base::fail("no leak scan: the host didn't send the live blocks in time");
    // Skips late answers to scans that were given up.
    const line::BlocksPiece piece = line::decode_blocks_piece(message->fields);
    if (piece.question != questions_) continue;
    if (piece.content == line::BlocksPiece::Content::kUnsettled) {
      const auto unsettled = stream::read_unsettled(line::bytes_of(piece.bytes));
      if (!unsettled) return base::fail("no leak scan: the host's list of live blocks is damaged");
      count += unsettled->owed.size() + unsettled->released.size();
      if (count > events) return base::fail("no leak scan: the host's list of live blocks is longer than possible");
      live.add_unsettled(*unsettled);
      continue;
    }
    const auto blocks = stream::read_scanned_blocks(line::bytes_of(piece.bytes));
    if (!blocks) return base::fail("no leak scan: the host's list of live blocks is damaged");
    count += blocks->size();
    if (count > events) return base::fail("no leak scan: the host's list of live blocks is longer than possible");
    for (const model::ScannedBlock& block : *blocks) {
      if (piece.content == line::BlocksPiece::Content::kPooled) {
        live.add_pooled(block.address, block.size_bytes);
      } else {
        live.add(block.address, block.size_bytes);
      }
    }
    more = piece.more;
  }
  return live;
}

void LineToHost::tell_of_wait(std::chrono::nanoseconds exit_wait) {
  teller_({line::LineNews::Kind::kSaid,
           base::make_error("an exiting process waits for the connection, at most {} (--exit-wait)",
                            base::format_duration(static_cast<uint64_t>(exit_wait.count())))
               .message});
}

void LineToHost::take_candidate(line::TimePoint now) {
  connections_->proceed(now);
  if (candidate_.has_connection()) return;
  auto connection = connections_->next(!link_.has_connection(), now);
  if (!connection) return;
  candidate_.take(*std::move(connection), false, now);
  had_candidate_ = true;
  candidate_since_ = now;
}

void LineToHost::hear_candidate(line::TimePoint now) {
  const std::string peer = candidate_.peer();
  candidate_.proceed(now);
  if (candidate_.is_refused()) return;
  if (candidate_.has_connection()) return judge_candidate(now);
  if (!peer.empty()) connections_->note_failure(candidate_.why_down(), now);
  if (!peer.empty() && !candidate_.line().is_sound()) refusals_.add(peer, {candidate_.why_down()}, now);
}

void LineToHost::judge_candidate(line::TimePoint now) {
  const std::optional<line::Greeting> greeting = candidate_.line().greeting();
  if (!greeting) {
    if (now - candidate_since_ <= kMaxGreeting) return;
    refusals_.add(candidate_.peer(), base::make_error("no greeting in time"), now);
    return candidate_.drop("");
  }
  if (const std::string why = why_not_spoken_with(*greeting); !why.empty()) return refuse(why, now);
  if (turn_away(*greeting, now)) return;
  // A new name, so that a host that took the session over before, and received nothing, can't come back.
  if (!has_session() || greeting->session.empty()) {
    const std::string name = std::exchange(next_session_, {});
    link_.line().set_session(name.empty() ? line::new_session_name() : name);
    if (has_new_host_ && board_ != nullptr) board_->tell_session(link_.line().session());
  }
  if (!link_.take_over(candidate_, now)) link_.drop("the host claims to have data that was never sent");
}

void LineToHost::refuse(std::string_view why, line::TimePoint now) {
  refusals_.add(candidate_.peer(), {std::string(why)}, now);
  candidate_.refuse(why, now);
}

void LineToHost::tell_news() {
  for (const line::LineNews& each : connections_->take_news()) teller_(each);
  for (const line::LineNews& each : refusals_.take()) teller_(each);
}

// Refuses a host with such a greeting, unless it may connect. True: refused.
bool LineToHost::turn_away(const line::Greeting& greeting, line::TimePoint now) {
  if (!greeting.session.empty()) {
    if (greeting.session == link_.line().session()) return false;
    refuse("the recording there has ended", now);
  } else if (!has_session()) {
    if (!greeting.takes_over) return false;
    refuse(why_nothing_to_take_over(), now);
  } else if (!is_own_session_ && board_ == nullptr) {
    refuse(link_.is_up() ? "it is already recording for another host"
                         : "it keeps the recording of a host that lost its connection, until --orphan-timeout",
           now);
  } else if (!greeting.takes_over) {
    refuse("it is already recording without a host: `heaptap connect ADDRESS` takes that over", now);
  } else {
    const bool knows_nothing = is_own_session_ && !link_.is_up() && link_.line().keeps_all();  // the previous host
    if (!knows_nothing) return turn_away_next_host(greeting, now);
    link_.line().forget_other_end();
    return false;
  }
  return true;
}

// Refuses a host that asks for a session of which another one has a part, unless that one is dead: a live host sends
// something in every heartbeat interval. True: refused, or not yet decided.
bool LineToHost::turn_away_next_host(const line::Greeting& greeting, line::TimePoint now) {
  if (is_asking_) return true;
  if (!takes_next_host_) {
    refuse("the recording there has ended, and another host has a part of it", now);
    return true;
  }
  if (candidate_.peer_key() != host_key_) {
    refuse("it keeps the recording for another host, which has a part of it", now);
    return true;
  }
  if (link_.is_up() && !greeting.by_force) {
    constexpr std::chrono::milliseconds kLeastWait{200};  // its earlier messages may still have been in transit
    if (link_.line().heard_at() > candidate_since_ + kLeastWait) {
      refuse("it is already recording for another host, which is connected: --take-over takes the recording over", now);
      return true;
    }
    if (now - candidate_since_ < base::intervals().heartbeat * 2 + kLeastWait) return true;
  }
  give_up_host();
  return false;
}

void LineToHost::give_up_host() {
  link_ = line::Link(max_kept_bytes_);
  begin_own_session();
  rows_.begin_session();
  functions_.begin_session();
  kept_.clear();
  kept_bytes_ = 0;
  alone_since_.reset();
  has_new_host_ = true;
}

void LineToHost::proceed(line::TimePoint now) {
  if (companion_ != nullptr) companion_->serve();
  take_candidate(now);
  hear_candidate(now);
  tell_news();
  send_file();
  link_.proceed(now);
  if (link_.is_up()) {
    has_met_host_ = true;
    host_key_ = link_.peer_key();
    alone_since_.reset();
  } else if (has_session() && !alone_since_ && (has_met_host_ || !is_own_session_)) {
    alone_since_ = now;
  }
}

void LineToHost::wait(int max_ms) {
  std::vector<pollfd> waits;
  add_waits(waits);
  poll(waits.data(), waits.size(), max_ms);
  proceed(Clock::now());
}

}  // namespace heaptap::uplink
