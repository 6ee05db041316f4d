// Line to the target's side, on the host. Reconnects after a lost connection and continues the recording.
#pragma once
#include <poll.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "capture/uplink/recording_file.h"
#include "common/channel/listener.h"
#include "common/line/line_news.h"
#include "common/line/link.h"

namespace heaptap::remote {

// Notifier that tells others whether they are being waited for; served in the same loop.
class WaitTeller {
 public:
  WaitTeller() = default;
  WaitTeller(const WaitTeller&) = delete;
  WaitTeller& operator=(const WaitTeller&) = delete;
  virtual ~WaitTeller() = default;

  virtual void add_waits(std::vector<pollfd>& waits) const = 0;
  virtual void serve(bool is_waiting) = 0;
};

class LineToTarget {
 public:
  // Tries the addresses in turn.
  LineToTarget(std::string name, std::vector<channel::Address> addresses, channel::Security security);
  // The target's side connects to this one.
  LineToTarget(std::string name, channel::Listener listener);

  // In place of a line: reads a recording from a file (recording_file.h).
  LineToTarget(std::string name, uplink::RecordingFileReader file);

  // Must outlive this.
  void set_teller(WaitTeller& teller) { teller_ = &teller; }
  // Requests the session begun by the target's side itself, from its beginning.
  void set_takes_over(bool by_force, uint64_t process = 0) { link_.line().set_takes_over(by_force, process); }

  // Waits for the first connection; retries up to `most`.
  base::Result<> connect(std::chrono::nanoseconds most);

  // Ends the session: waits a while until the other end has received that.
  void say_farewell();

  void add_waits(std::vector<pollfd>& waits) const;
  // Receives, sends, and reconnects where due.
  void proceed(line::TimePoint now);
  [[nodiscard]] line::Link& link() { return link_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  // Sent messages are never answered.
  [[nodiscard]] bool is_file() const { return file_.has_value(); }
  // The session is over there, or can't continue: reconnecting is useless.
  [[nodiscard]] bool is_over() const { return is_over_; }
  // Empty: it is a file that contained the whole recording.
  [[nodiscard]] const std::string& why_over() const { return why_over_; }
  std::vector<line::LineNews> take_news() { return std::exchange(news_, {}); }

 private:
  void begin_connection(line::TimePoint now);
  void accept_connection(line::TimePoint now);
  void judge(line::TimePoint now);
  void read_file();

  std::string name_;
  std::optional<uplink::RecordingFileReader> file_;
  bool is_whole_ = false;  // the file contains the end of the recording
  std::optional<channel::Listener> listener_;
  WaitTeller* teller_ = nullptr;
  std::vector<channel::Address> addresses_;
  channel::Security security_;
  line::Link link_;
  size_t next_address_ = 0;
  line::TimePoint next_try_;
  std::chrono::milliseconds pause_{100};
  bool was_up_ = false;  // and nothing else was reported to the user since
  bool is_over_ = false;
  std::string why_over_;
  std::vector<line::LineNews> news_;
};

}  // namespace heaptap::remote
