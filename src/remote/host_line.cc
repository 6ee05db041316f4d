#include "remote/host_line.h"

#include <algorithm>
#include <utility>

#include "base/intervals.h"
#include "base/units.h"
#include "collect/scan_bytes.h"
#include "remote/message_fields.h"
#include "remote/session_name.h"
#include "remote/stream_replay.h"

namespace heaptap::remote {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kMaxGreeting{10};
// Of messages that came while another one was awaited: what a host asks for is little.
constexpr size_t kMaxKeptMessages = 1000;
constexpr size_t kMaxKeptBytes = size_t{1} << 20;
constexpr size_t kCaughtUpBytes = size_t{64} << 10;  // no more than these are under way on a line that isn't behind
constexpr std::chrono::seconds kLongestSilence{1};   // before it is said what is waited for

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

HostLine::HostLine(std::unique_ptr<ConnectionSource> connections, size_t most_kept_bytes, std::string session)
    : connections_(std::move(connections)),
      most_kept_bytes_(most_kept_bytes),
      next_session_(std::move(session)),
      link_(most_kept_bytes) {}

void HostLine::add_waits(std::vector<pollfd>& waits) const {
  connections_->add_waits(waits);
  if (companion_ != nullptr) companion_->add_waits(waits);
  candidate_.add_waits(waits);
  link_.add_waits(waits);
}

void HostLine::begin_own_session() {
  link_.line().set_session(new_session_name());
  is_own_session_ = true;
}

void HostLine::end_session() {
  candidate_.drop("");
  link_ = Link(most_kept_bytes_);
  rows_.begin_session();
  functions_.begin_session();
  alone_since_.reset();
  has_left_ = is_given_up_ = is_own_session_ = has_met_host_ = has_new_host_ = false;
  kept_.clear();
  kept_bytes_ = 0;
  files_.end();
}

void HostLine::want_functions(const FunctionRequest& request) {
  const std::optional<Greeting>& host = link_.line().greeting();
  if (host && host->minor >= control::kFunctionsSinceMinor) functions_.want(link_.line(), request);
}

// The next message that isn't about files.
std::optional<control::Message> HostLine::receive() {
  while (auto message = link_.line().next()) {
    if (!files_.take(*message)) return message;
    send_file();
    link_.proceed(Clock::now());  // the host asks for the next piece when it has this one
  }
  return std::nullopt;
}

// Events come first: a piece goes out while the host has nearly all that was sent.
void HostLine::send_file() {
  constexpr size_t kNearlyNothing = size_t{64} << 10;
  if (!files_.is_asked() || link_.line().kept_bytes() > kNearlyNothing) return;
  link_.line().send({.kind = control::Kind::kFilePiece, .number = 0, .fields = *files_.answer()});
}

std::optional<control::Message> HostLine::next() {
  if (kept_.empty()) return receive();
  control::Message message = std::move(kept_.front());
  kept_.pop_front();
  kept_bytes_ -= message.fields.bytes().size();
  return message;
}

// One that came while another one was awaited. True: it says that nothing is to be awaited any more.
bool HostLine::keep(control::Message message) {
  if (message.kind == control::Kind::kRows) {  // they can be much, and have no place among the others
    rows_.take(message.fields);
    return false;
  }
  if (message.kind == control::Kind::kFunctions) {
    functions_.take(message.fields);
    return false;
  }
  const bool asks_for_end = message.kind == control::Kind::kLetGo || message.kind == control::Kind::kFarewell;
  kept_bytes_ += message.fields.bytes().size();
  kept_.push_back(std::move(message));
  if (kept_.size() > kMaxKeptMessages || kept_bytes_ > kMaxKeptBytes) give_up();
  return asks_for_end;
}

// The host is waited for, also while its connection is lost for a moment.
bool HostLine::may_be_there(TimePoint now) const {
  constexpr std::chrono::seconds kLongestBreak{3};  // the other end connects anew at once
  return !is_given_up() && (!alone_since_ || now - *alone_since_ < kLongestBreak);
}

// Takes what the host says, until `take` has what it wants.
void HostLine::receive_while(const std::function<bool()>& goes_on, const std::function<bool(control::Message)>& take) {
  while (goes_on() && may_be_there(Clock::now())) {
    while (auto message = receive()) {
      if (take(*std::move(message))) return;
    }
    if (!is_given_up()) wait(kPauseMs);
  }
}

std::optional<control::Message> HostLine::await(control::Kind kind, uint64_t stream,
                                                const std::function<bool()>& goes_on) {
  std::optional<control::Message> found;
  receive_while(goes_on, [&](control::Message message) {
    const bool is_it = message.kind == kind && message.fields.number_or_0(control::Field::kStream) == stream;
    if (!is_it) return keep(std::move(message));
    found = std::move(message);
    return true;
  });
  return found;
}

bool HostLine::wait_until(const std::function<bool()>& is_so) {
  Patience patience(patience_, link_.line(), Clock::now());
  const Asking asking(is_asking_);
  bool is_so_now = false;
  const auto goes_on = [&] {
    is_so_now = is_so();
    return !is_so_now && !patience.is_over(Clock::now()) && !patience.is_interrupted();
  };
  receive_while(goes_on, [this](control::Message message) { return keep(std::move(message)); });
  return is_so_now;
}

void HostLine::take_answers(const std::function<bool()>& is_awaited, TimePoint until) {
  receive_while([&] { return is_awaited() && Clock::now() < until; },
                [this](control::Message message) { return keep(std::move(message)); });
}

base::Result<collect::LiveBlocks> HostLine::live_blocks(uint64_t stream, uint64_t events,
                                                        std::optional<std::chrono::nanoseconds> exit_wait,
                                                        const std::function<void()>& meanwhile) {
  if (is_own_session_ && !link_.is_up() && link_.line().keeps_all()) {
    StreamReplay replay(stream);
    control::MessageReader reader(kMaxMessageBytes);
    for (const std::string& bytes : link_.line().kept()) {
      reader.add(bytes);
      if (const auto message = reader.next()) replay.take(*message);
    }
    return replay.finish();
  }
  // One of many processes that end has waited for this line already.
  was_late_ = was_late_ && link_.line().kept_bytes() > kCaughtUpBytes;
  if (exit_wait && was_late_)
    return base::fail("no leak scan: the connection is slow, and another process has waited for it without success");
  control::Message wanted{.kind = control::Kind::kBlocksWanted, .number = 0, .fields = {}};
  wanted.fields.add(control::Field::kStream, stream);
  wanted.fields.add(control::Field::kQuestion, ++questions_);
  send(wanted);
  const TimePoint since = Clock::now();
  PatienceLimits limits = patience_;
  if (exit_wait) limits.in_all = std::min(limits.in_all, *exit_wait);
  Patience patience(limits, link_.line(), since);
  bool is_told = !exit_wait;
  const auto goes_on = [&] {
    meanwhile();
    if (!is_told && Clock::now() - since > std::min<std::chrono::nanoseconds>(kLongestSilence, *exit_wait / 2)) {
      is_told = true;
      tell_of_wait(*exit_wait);
    }
    return !patience.is_over(Clock::now()) && !patience.is_interrupted();
  };
  const Asking asking(is_asking_);
  collect::LiveBlocks live;
  uint64_t count = 0;  // of blocks, and of what isn't settled of them: each is of an event
  bool more = true;
  while (more) {
    const auto message = await(control::Kind::kBlocks, stream, goes_on);
    if (!message && exit_wait) {
      was_late_ = true;
      return base::fail(
          "no leak scan: the connection is slow, and the process didn't wait any longer for the host before it ended; "
          "raise heaptap-target --exit-wait");
    }
    if (!message) return base::fail("no leak scan: the host didn't send the live blocks in time");
    // The late answer to a scan that was given up.
    if (message->fields.number_or_0(control::Field::kQuestion) != questions_) continue;
    if (const auto told = message->fields.text(control::Field::kUnsettled)) {
      const auto unsettled = collect::read_unsettled(bytes_of(*told));
      if (!unsettled) return base::fail("no leak scan: the host's list of live blocks is damaged");
      count += unsettled->owed.size() + unsettled->released.size();
      if (count > events) return base::fail("no leak scan: the host's list of live blocks is longer than possible");
      live.add_unsettled(*unsettled);
      continue;
    }
    const auto pooled = message->fields.text(control::Field::kPooled);
    const auto told = pooled ? pooled : message->fields.text(control::Field::kBytes);
    const auto blocks = collect::read_scanned_blocks(bytes_of(told.value_or("")));
    if (!blocks) return base::fail("no leak scan: the host's list of live blocks is damaged");
    count += blocks->size();
    if (count > events) return base::fail("no leak scan: the host's list of live blocks is longer than possible");
    for (const model::ScannedBlock& block : *blocks) {
      if (pooled) {
        live.add_pooled(block.address, block.size_bytes);
      } else {
        live.add(block.address, block.size_bytes);
      }
    }
    more = message->fields.number_or_0(control::Field::kMore) != 0;
  }
  return live;
}

void HostLine::tell_of_wait(std::chrono::nanoseconds exit_wait) {
  teller_(
      {LineNews::Kind::kSaid, base::make_error("an exiting process waits for the connection, at most {} (--exit-wait)",
                                               base::format_duration(static_cast<uint64_t>(exit_wait.count())))
                                  .message});
}

void HostLine::take_candidate(TimePoint now) {
  connections_->proceed(now);
  if (candidate_.has_connection()) return;
  auto connection = connections_->next(!link_.has_connection(), now);
  if (!connection) return;
  candidate_.take(*std::move(connection), false, now);
  had_candidate_ = true;
  candidate_since_ = now;
}

void HostLine::hear_candidate(TimePoint now) {
  const std::string peer = candidate_.peer();
  candidate_.proceed(now);
  if (candidate_.is_refused()) return;
  if (candidate_.has_connection()) return judge_candidate(now);
  if (!peer.empty()) connections_->note_failure(candidate_.why_down(), now);
  if (!peer.empty() && !candidate_.line().is_sound()) refusals_.add(peer, {candidate_.why_down()}, now);
}

void HostLine::judge_candidate(TimePoint now) {
  const std::optional<Greeting> greeting = candidate_.line().greeting();
  if (!greeting) {
    if (now - candidate_since_ <= kMaxGreeting) return;
    refusals_.add(candidate_.peer(), base::make_error("no greeting in time"), now);
    return candidate_.drop("");
  }
  if (const std::string why = why_not_spoken_with(*greeting); !why.empty()) return refuse(why, now);
  if (turn_away(*greeting, now)) return;
  // Who took it over before, and got nothing of it, isn't to come back.
  if (!has_session() || greeting->session.empty()) {
    const std::string name = std::exchange(next_session_, {});
    link_.line().set_session(name.empty() ? new_session_name() : name);
    if (has_new_host_) connections_->tell_session(link_.line().session());
  }
  if (!link_.take_over(candidate_, now)) link_.drop("the host claims to have data that was never sent");
}

void HostLine::refuse(std::string_view why, TimePoint now) {
  refusals_.add(candidate_.peer(), {std::string(why)}, now);
  candidate_.refuse(why, now);
}

void HostLine::tell_news() {
  for (const LineNews& each : connections_->take_news()) teller_(each);
  for (const LineNews& each : refusals_.take()) teller_(each);
}

// True: a host that greeted in this way has no place here, and was told so.
bool HostLine::turn_away(const Greeting& greeting, TimePoint now) {
  if (!greeting.session.empty()) {
    if (greeting.session == link_.line().session()) return false;
    refuse("the recording there has ended", now);
  } else if (!has_session()) {
    if (!greeting.takes_over) return false;
    refuse(why_nothing_to_take_over(), now);
  } else if (!is_own_session_ && !connections_->is_of_one_host()) {
    refuse(link_.is_up() ? "it is already recording for another host"
                         : "it keeps the recording of a host that lost its connection, until --orphan-timeout",
           now);
  } else if (!greeting.takes_over) {
    refuse("it is already recording without a host: `heaptap connect ADDRESS` takes that over", now);
  } else {
    const bool knows_nothing = is_own_session_ && !link_.is_up() && link_.line().keeps_all();  // of the host before
    if (!knows_nothing) return turn_away_next_host(greeting, now);
    link_.line().forget_other_end();
    return false;
  }
  return true;
}

// One that wants what another host has a part of. That one's word decides whether it is there: who lives says something in every
// interval. True: it has no place here, or is yet to be judged.
bool HostLine::turn_away_next_host(const Greeting& greeting, TimePoint now) {
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
    constexpr std::chrono::milliseconds kLeastWait{200};  // what it said before that may have been under way
    if (link_.line().heard_at() > candidate_since_ + kLeastWait) {
      refuse("it is already recording for another host, which is connected: --take-over takes the recording over", now);
      return true;
    }
    if (now - candidate_since_ < base::intervals().heartbeat * 2 + kLeastWait) return true;
  }
  give_up_host();
  return false;
}

void HostLine::give_up_host() {
  link_ = Link(most_kept_bytes_);
  begin_own_session();
  rows_.begin_session();
  functions_.begin_session();
  kept_.clear();
  kept_bytes_ = 0;
  alone_since_.reset();
  has_new_host_ = true;
}

void HostLine::proceed(TimePoint now) {
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

void HostLine::wait(int most_ms) {
  std::vector<pollfd> waits;
  add_waits(waits);
  poll(waits.data(), waits.size(), most_ms);
  proceed(Clock::now());
}

}  // namespace heaptap::remote
