// Line to the host, on the target's side. One session at a time; its host is the peer that knows its name, over the
// latest connection.
#pragma once
#include <poll.h>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "capture/supervision/recording_service.h"
#include "capture/uplink/asked_host.h"
#include "capture/uplink/connection_source.h"
#include "capture/uplink/function_store.h"
#include "capture/uplink/offered_files.h"
#include "capture/uplink/refusals.h"
#include "capture/uplink/row_store.h"
#include "capture/uplink/switchboard.h"
#include "capture/uplink/uplink.h"
#include "common/line/line_news.h"
#include "common/line/link.h"
#include "common/line/wait_budget.h"

namespace heaptap::uplink {

class LineToHost final : public Uplink, public AskedHost {
 public:
  // `session`: name of the first session; empty: a new one.
  LineToHost(std::unique_ptr<ConnectionSource> connections, size_t max_kept_bytes, std::string session = {});
  LineToHost(std::unique_ptr<SwitchedConnections> connections, size_t max_kept_bytes, std::string session);

  // Served in the same loop; must outlive this.
  void set_companion(supervision::RecordingService& companion) { companion_ = &companion; }

  void add_waits(std::vector<pollfd>& waits) const;
  void proceed(line::TimePoint now);
  // poll() on this line only.
  void wait(int max_ms);
  // The host's next message.
  std::optional<message::Message> next();
  // The next message of this kind and stream; others are queued for next(). None: `goes_on` returned false, the
  // connection is lost, the end is requested, or too many other messages came and the host is given up.
  std::optional<message::Message> await(message::Number kind, uint64_t stream, const std::function<bool()>& goes_on);

  // Receives requested rows and functions until none is pending, or this time.
  void take_answers(const std::function<bool()>& is_awaited, line::TimePoint until);

  // Serves the line until `is_so` returns true. False: timeout, or the end is requested.
  bool wait_until(const std::function<bool()>& is_so);

  // This side begins the session: sent messages are kept for a host that takes it over, from the beginning.
  void begin_own_session();
  // Whether another host has taken over a session of which a previous host received a part: once. State must be sent again.
  [[nodiscard]] bool take_new_host() { return std::exchange(has_new_host_, false); }
  // Whether that is possible, since there is a sender of the state.
  void set_takes_next_host(bool takes) { takes_next_host_ = takes; }
  // Whether a host is connected, or was.
  [[nodiscard]] bool has_met_host() const { return has_met_host_; }

  // Whether a candidate connected and is gone.
  [[nodiscard]] bool has_lost_candidate() const { return had_candidate_ && !candidate_.has_connection(); }
  // Whether a host began a session, or none did yet.
  [[nodiscard]] bool has_session() const { return !link_.line().session().empty(); }
  void end_session();
  // The host has said farewell.
  void say_farewell() { has_left_ = true; }
  [[nodiscard]] bool has_left() const { return has_left_; }
  // Gives up the host: drops all that is queued for it.
  void give_up() { is_given_up_ = true; }
  [[nodiscard]] bool is_given_up() const override { return is_given_up_ || has_left_; }
  void send(const message::Message& message) override { link_.line().send(message); }
  [[nodiscard]] bool has_room() const override { return link_.line().has_room(); }
  [[nodiscard]] size_t waiting_bytes() const override { return link_.line().kept_bytes(); }
  // Asks the host, or, while no host has received anything, replays the queued messages.
  base::Result<stream::LiveBlocks> live_blocks(uint64_t stream, uint64_t events, std::optional<ExitWait> exit_wait,
                                               const std::function<void()>& meanwhile) override;
  // Callback for rejected peers, called at once.
  void set_teller(std::function<void(const line::LineNews&)> teller) { teller_ = std::move(teller); }
  void set_patience(line::PatienceLimits limits) { wait_budget_ = limits; }
  // Whether there is no connection, and none can come.
  [[nodiscard]] bool is_cut_off() const { return board_ != nullptr && board_->is_over() && !link_.has_connection(); }
  [[nodiscard]] line::Link& link() { return link_; }
  // Files that the host may fetch: requested by messages, sent with the lowest priority.
  [[nodiscard]] OfferedFiles& files() { return files_; }
  void offer_files(uint64_t stream, size_t first, pid_t process, std::span<const model::Module> modules) override {
    files_.add(stream, first, process, modules);
  }
  [[nodiscard]] RowStore& rows() override { return rows_; }
  void want_rows(const std::string& build_id, std::string_view path, std::optional<uint64_t> address) override {
    rows_.want(link_.line(), build_id, path, address);
  }
  // Function addresses; asks a connected host that supports the request.
  [[nodiscard]] FunctionStore& functions() { return functions_; }
  void want_functions(const line::FunctionRequest& request);
  // Start of the time without a connection to the session's host; none: connected.
  [[nodiscard]] std::optional<line::TimePoint> alone_since() const { return alone_since_; }

 private:
  void take_candidate(line::TimePoint now);
  void hear_candidate(line::TimePoint now);
  void judge_candidate(line::TimePoint now);
  void tell_news();
  std::optional<message::Message> receive();
  [[nodiscard]] bool may_be_there(line::TimePoint now) const;
  void receive_while(const std::function<bool()>& goes_on, const std::function<bool(message::Message)>& take);
  void send_file();
  bool turn_away(const line::Greeting& greeting, line::TimePoint now);
  bool turn_away_next_host(const line::Greeting& greeting, line::TimePoint now);
  void give_up_host();
  void refuse(std::string_view why, line::TimePoint now);
  bool keep(message::Message message);
  void tell_of_wait(std::chrono::nanoseconds exit_wait);

  std::unique_ptr<ConnectionSource> connections_;
  SwitchedConnections* board_ = nullptr;  // the same; null: other ones
  const size_t max_kept_bytes_;
  std::string next_session_;  // its name
  line::Link link_;
  RowStore rows_;
  FunctionStore functions_;
  line::Link candidate_{0};  // that hasn't named its session yet
  line::TimePoint candidate_since_;
  bool had_candidate_ = false;
  std::optional<line::TimePoint> alone_since_;
  bool is_own_session_ = false;
  bool has_met_host_ = false;
  bool has_new_host_ = false;
  bool takes_next_host_ = false;
  bool is_asking_ = false;  // a request to the host is being waited for
  std::string host_key_;    // fingerprint of the last host's key
  bool has_left_ = false;
  bool is_given_up_ = false;
  OfferedFiles files_;
  supervision::RecordingService* companion_ = nullptr;
  std::deque<message::Message> kept_;  // queued while another message was awaited
  size_t kept_bytes_ = 0;              // of these
  uint64_t questions_ = 0;             // number of requests for live blocks so far
  bool was_late_ = false;              // the last one for an ending process timed out
  line::PatienceLimits wait_budget_{.silence = std::chrono::seconds(20), .in_all = std::chrono::minutes(5)};
  Refusals refusals_;
  std::function<void(const line::LineNews&)> teller_ = [](const line::LineNews&) {};
};

}  // namespace heaptap::uplink
