// Source of connections for the target's end of a line.
#pragma once
#include <poll.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "capture/uplink/address_finder.h"
#include "common/channel/connection.h"
#include "common/channel/listener.h"
#include "common/line/line_news.h"
#include "common/line/reliable_line.h"

namespace heaptap::uplink {

class ConnectionSource {
 public:
  ConnectionSource() = default;
  ConnectionSource(const ConnectionSource&) = delete;
  ConnectionSource& operator=(const ConnectionSource&) = delete;
  virtual ~ConnectionSource() = default;

  virtual void add_waits(std::vector<pollfd>& waits) const = 0;
  // For sources with work of their own between connections.
  virtual void proceed(line::TimePoint /*now*/) {}
  // The next connection; the other end hasn't named its session yet. `is_alone`: there is no current one.
  virtual std::optional<channel::Connection> next(bool is_alone, line::TimePoint now) = 0;
  // The last one ended before the other end named its session.
  virtual void note_failure(const std::string& /*why*/, line::TimePoint /*now*/) {}
  virtual std::vector<line::LineNews> take_news() { return {}; }
};

// Listening source.
class Acceptor : public ConnectionSource {
 public:
  explicit Acceptor(channel::Listener listener) : listener_(std::move(listener)) {}
  void add_waits(std::vector<pollfd>& waits) const override { listener_.add_waits(waits); }
  void proceed(line::TimePoint now) override { listener_.proceed(now); }
  std::optional<channel::Connection> next(bool is_alone, line::TimePoint now) override;
  std::vector<line::LineNews> take_news() override;

 private:
  channel::Listener listener_;
};

// Connecting source: connects while there is no connection. Each kind of failure is reported when it first occurs, and
// again after a while.
class Connector : public ConnectionSource {
 public:
  // `finder`: for an address with a name.
  Connector(channel::Address address, channel::Security security, std::unique_ptr<AddressFinder> finder = nullptr);
  // `name`: for display.
  Connector(std::string name, channel::Security security, std::unique_ptr<AddressFinder> finder)
      : name_(std::move(name)), security_(std::move(security)), finder_(std::move(finder)) {}
  void add_waits(std::vector<pollfd>& waits) const override;
  void proceed(line::TimePoint now) override;
  std::optional<channel::Connection> next(bool is_alone, line::TimePoint now) override;
  void note_failure(const std::string& why, line::TimePoint now) override;
  std::vector<line::LineNews> take_news() override { return std::exchange(news_, {}); }

 private:
  std::string name_;
  channel::Security security_;
  std::unique_ptr<AddressFinder> finder_;
  bool is_looked_up_ = false;                // just now
  std::vector<channel::Address> addresses_;  // still to be tried; for a name; else constant
  std::optional<channel::Address> tried_;    // last
  line::TimePoint next_try_;
  std::string told_;  // last
  line::TimePoint told_at_;
  std::vector<line::LineNews> news_;
};

}  // namespace heaptap::uplink
