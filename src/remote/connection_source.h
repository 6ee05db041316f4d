// Where the target's end of a line gets its connections from.
#pragma once
#include <poll.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "channel/connection.h"
#include "channel/listener.h"
#include "remote/address_finder.h"
#include "remote/line_news.h"
#include "remote/reliable_line.h"

namespace heaptap::remote {

class ConnectionSource {
 public:
  ConnectionSource() = default;
  ConnectionSource(const ConnectionSource&) = delete;
  ConnectionSource& operator=(const ConnectionSource&) = delete;
  virtual ~ConnectionSource() = default;

  virtual void add_waits(std::vector<pollfd>& waits) const = 0;
  virtual void proceed(TimePoint now) = 0;
  // The next one; the other end hasn't said whose it is. `is_alone`: there is none at present.
  virtual std::optional<channel::Connection> next(bool is_alone, TimePoint now) = 0;
  // The last one ended before the other end said whose it is.
  virtual void note_failure(const std::string& /*why*/, TimePoint /*now*/) {}
  // The session has this name from now on, by which its host comes again: the one that took the place of another.
  virtual void tell_session(const std::string& /*name*/) {}
  // Each host that comes has proved to be the one whose session it is, or one that may take it over.
  [[nodiscard]] virtual bool is_of_one_host() const { return false; }
  // There never is another one.
  [[nodiscard]] virtual bool is_over() const { return false; }
  virtual std::vector<LineNews> take_news() { return {}; }
};

// Others come here.
class Acceptor : public ConnectionSource {
 public:
  explicit Acceptor(channel::Listener listener) : listener_(std::move(listener)) {}
  void add_waits(std::vector<pollfd>& waits) const override { listener_.add_waits(waits); }
  void proceed(TimePoint now) override { listener_.proceed(now); }
  std::optional<channel::Connection> next(bool is_alone, TimePoint now) override;
  std::vector<LineNews> take_news() override;

 private:
  channel::Listener listener_;
};

// This side goes there, as long as it is alone. Each way in which that fails is told when it is met, and again after a while.
class Connector : public ConnectionSource {
 public:
  // `finder`: where the address is a name.
  Connector(channel::Address address, channel::Security security, std::unique_ptr<AddressFinder> finder = nullptr);
  // `name`: for people.
  Connector(std::string name, channel::Security security, std::unique_ptr<AddressFinder> finder)
      : name_(std::move(name)), security_(std::move(security)), finder_(std::move(finder)) {}
  void add_waits(std::vector<pollfd>& waits) const override;
  void proceed(TimePoint now) override;
  std::optional<channel::Connection> next(bool is_alone, TimePoint now) override;
  void note_failure(const std::string& why, TimePoint now) override;
  std::vector<LineNews> take_news() override { return std::exchange(news_, {}); }

 private:
  std::string name_;
  channel::Security security_;
  std::unique_ptr<AddressFinder> finder_;
  bool is_looked_up_ = false;                // just now
  std::vector<channel::Address> addresses_;  // yet to be tried; of a name, else it stays
  std::optional<channel::Address> tried_;    // last
  TimePoint next_try_;
  std::string told_;  // last
  TimePoint told_at_;
  std::vector<LineNews> news_;
};

}  // namespace heaptap::remote
