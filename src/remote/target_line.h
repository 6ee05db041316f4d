// The host's end of the line to a target's side. Where a connection ends it makes another one, and the recording goes on where it was.
#pragma once
#include <poll.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "channel/listener.h"
#include "remote/line_news.h"
#include "remote/link.h"
#include "remote/recording_file.h"

namespace heaptap::remote {

// Tells others whether they are waited for here; is served in the same loop.
class WaitTeller {
 public:
  WaitTeller() = default;
  WaitTeller(const WaitTeller&) = delete;
  WaitTeller& operator=(const WaitTeller&) = delete;
  virtual ~WaitTeller() = default;

  virtual void add_waits(std::vector<pollfd>& waits) const = 0;
  virtual void serve(bool is_waiting) = 0;
};

class TargetLine {
 public:
  // The addresses are tried in turn.
  TargetLine(std::string name, std::vector<channel::Address> addresses, channel::Security security);
  // The target's side comes to this one.
  TargetLine(std::string name, channel::Listener listener);

  // No line: what was recorded into a file (recording_file.h) comes from there.
  TargetLine(std::string name, RecordingFileReader file);

  // Outlives this.
  void set_teller(WaitTeller& teller) { teller_ = &teller; }
  // What the target's side began by itself is wanted, from its beginning.
  void set_takes_over(bool by_force, uint64_t process = 0) { link_.line().set_takes_over(by_force, process); }

  // Stays until there is a connection for the first time; tries as long, at most.
  base::Result<> connect(std::chrono::nanoseconds most);

  // Nothing more is wanted: stays until the other end has heard it, for a while.
  void say_farewell();

  void add_waits(std::vector<pollfd>& waits) const;
  // Reads, sends, connects anew where that is due.
  void proceed(TimePoint now);
  [[nodiscard]] Link& link() { return link_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  // Nobody answers what is sent.
  [[nodiscard]] bool is_file() const { return file_.has_value(); }
  // The session is over there, or can't go on: no connection helps.
  [[nodiscard]] bool is_over() const { return is_over_; }
  // Empty: it is a file, and all that was recorded was in it.
  [[nodiscard]] const std::string& why_over() const { return why_over_; }
  std::vector<LineNews> take_news() { return std::exchange(news_, {}); }

 private:
  void begin_connection(TimePoint now);
  void accept_connection(TimePoint now);
  void judge(TimePoint now);
  void read_file();

  std::string name_;
  std::optional<RecordingFileReader> file_;
  bool is_whole_ = false;  // the file: it told the recording's end
  std::optional<channel::Listener> listener_;
  WaitTeller* teller_ = nullptr;
  std::vector<channel::Address> addresses_;
  channel::Security security_;
  Link link_;
  size_t next_address_ = 0;
  TimePoint next_try_;
  std::chrono::milliseconds pause_{100};
  bool was_up_ = false;  // and the user was told nothing else since
  bool is_over_ = false;
  std::string why_over_;
  std::vector<LineNews> news_;
};

}  // namespace heaptap::remote
