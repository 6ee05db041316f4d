// Where the target's end of a line gets its connections from.
#pragma once
#include <poll.h>

#include <optional>
#include <utility>
#include <vector>

#include "channel/connection.h"
#include "channel/listener.h"
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

// This side goes there, as long as it is alone.
class Connector : public ConnectionSource {
 public:
  Connector(channel::Address address, channel::Security security)
      : address_(std::move(address)), security_(std::move(security)) {}
  void add_waits(std::vector<pollfd>& waits) const override;
  void proceed(TimePoint now) override;
  std::optional<channel::Connection> next(bool is_alone, TimePoint now) override;

 private:
  channel::Address address_;
  channel::Security security_;
  TimePoint next_try_;
};

}  // namespace heaptap::remote
