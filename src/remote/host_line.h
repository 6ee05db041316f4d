// The target's end of the line to the host. One session at a time; whoever knows its name is its host, over the connection that
// came last.
#pragma once
#include <poll.h>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collect/recording_service.h"
#include "remote/connection_source.h"
#include "remote/function_store.h"
#include "remote/line_news.h"
#include "remote/link.h"
#include "remote/offered_files.h"
#include "remote/outlet.h"
#include "remote/patience.h"
#include "remote/refusals.h"
#include "remote/row_store.h"

namespace heaptap::remote {

class HostLine final : public Outlet {
 public:
  // `session`: the name that the first one gets; empty: a new one.
  HostLine(std::unique_ptr<ConnectionSource> connections, size_t most_kept_bytes, std::string session = {});

  // Is served in the same loop; outlives this.
  void set_companion(collect::RecordingService& companion) { companion_ = &companion; }

  void add_waits(std::vector<pollfd>& waits) const;
  void proceed(TimePoint now);
  // A poll() of this alone.
  void wait(int most_ms);
  // The host's next message.
  std::optional<control::Message> next();
  // The next one of this kind and stream; others are kept for next(). None: it takes longer than `goes_on` says, the connection is
  // lost, the end is asked for, or so much else comes that this host is given up.
  std::optional<control::Message> await(control::Kind kind, uint64_t stream, const std::function<bool()>& goes_on);

  // Rows and functions that were asked for are taken as they come, until none is awaited or this time.
  void take_answers(const std::function<bool()>& is_awaited, TimePoint until);

  // The line goes on until something is so. False: it isn't, and it takes longer than it may, or the end is asked for.
  bool wait_until(const std::function<bool()>& is_so);

  // This side begins: what is sent waits for a host that takes it over, from the beginning.
  void begin_own_session();
  // Another host has taken the session over that had a part of it before: once. It is to be told anew.
  [[nodiscard]] bool take_new_host() { return std::exchange(has_new_host_, false); }
  // Whether one may, since there is somebody who tells it.
  void set_takes_next_host(bool takes) { takes_next_host_ = takes; }
  // A host is there, or was.
  [[nodiscard]] bool has_met_host() const { return has_met_host_; }

  // Somebody came, and isn't there any more.
  [[nodiscard]] bool has_lost_candidate() const { return had_candidate_ && !candidate_.has_connection(); }
  // A host began a session, or none did yet.
  [[nodiscard]] bool has_session() const { return !link_.line().session().empty(); }
  void end_session();
  // The host said that it wants no more.
  void say_farewell() { has_left_ = true; }
  [[nodiscard]] bool has_left() const { return has_left_; }
  // Nobody waits for it any more: what there is for it is dropped.
  void give_up() { is_given_up_ = true; }
  [[nodiscard]] bool is_given_up() const override { return is_given_up_ || has_left_; }
  void send(const control::Message& message) override { link_.line().send(message); }
  [[nodiscard]] bool has_room() const override { return link_.line().has_room(); }
  [[nodiscard]] size_t waiting_bytes() const override { return link_.line().kept_bytes(); }
  // The host tells, or while nobody has anything of it yet, what waits here.
  base::Result<collect::LiveBlocks> live_blocks(uint64_t stream, uint64_t events,
                                                std::optional<std::chrono::nanoseconds> exit_wait,
                                                const std::function<void()>& meanwhile) override;
  // Is told at once who was sent away.
  void set_teller(std::function<void(const LineNews&)> teller) { teller_ = std::move(teller); }
  void set_patience(PatienceLimits limits) { patience_ = limits; }
  // No connection comes any more, and there is none.
  [[nodiscard]] bool is_cut_off() const { return connections_->is_over() && !link_.has_connection(); }
  [[nodiscard]] Link& link() { return link_; }
  // What the host may fetch: asked for among its messages, sent where nothing else waits.
  [[nodiscard]] OfferedFiles& files() { return files_; }
  void offer_files(uint64_t stream, size_t first, pid_t process, std::span<const model::Module> modules) override {
    files_.add(stream, first, process, modules);
  }
  // What hosts have told so far; it stays from session to session.
  [[nodiscard]] RowStore* rows() override { return &rows_; }
  void want_rows(const std::string& build_id, std::string_view path, std::optional<uint64_t> address) override {
    rows_.want(link_.line(), build_id, path, address);
  }
  // Where functions of programs are; asks a host that is there and knows the question.
  [[nodiscard]] FunctionStore& functions() { return functions_; }
  void want_functions(const FunctionRequest& request);
  // Since when there is no connection to the session's host; none: there is one.
  [[nodiscard]] std::optional<TimePoint> alone_since() const { return alone_since_; }

 private:
  void take_candidate(TimePoint now);
  void hear_candidate(TimePoint now);
  void judge_candidate(TimePoint now);
  void tell_news();
  std::optional<control::Message> receive();
  [[nodiscard]] bool may_be_there(TimePoint now) const;
  void receive_while(const std::function<bool()>& goes_on, const std::function<bool(control::Message)>& take);
  void send_file();
  bool turn_away(const Greeting& greeting, TimePoint now);
  bool turn_away_next_host(const Greeting& greeting, TimePoint now);
  void give_up_host();
  void refuse(std::string_view why, TimePoint now);
  bool keep(control::Message message);
  void tell_of_wait(std::chrono::nanoseconds exit_wait);

  std::unique_ptr<ConnectionSource> connections_;
  const size_t most_kept_bytes_;
  std::string next_session_;  // its name
  Link link_;
  RowStore rows_;
  FunctionStore functions_;
  Link candidate_{0};  // one that hasn't said yet whose host it is
  TimePoint candidate_since_;
  bool had_candidate_ = false;
  std::optional<TimePoint> alone_since_;
  bool is_own_session_ = false;
  bool has_met_host_ = false;
  bool has_new_host_ = false;
  bool takes_next_host_ = false;
  bool is_asking_ = false;  // the host something that is waited for
  std::string host_key_;    // the fingerprint of the last host's key
  bool has_left_ = false;
  bool is_given_up_ = false;
  OfferedFiles files_;
  collect::RecordingService* companion_ = nullptr;
  std::deque<control::Message> kept_;  // came while another one was awaited
  size_t kept_bytes_ = 0;              // of these
  uint64_t questions_ = 0;             // about what is alive, so far
  bool was_late_ = false;              // with the last of them for which a process waited with its end
  PatienceLimits patience_{.silence = std::chrono::seconds(20), .in_all = std::chrono::minutes(5)};
  Refusals refusals_;
  std::function<void(const LineNews&)> teller_ = [](const LineNews&) {};
};

}  // namespace heaptap::remote
