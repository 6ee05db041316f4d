#include "apps/heaptap/commands/symbols_command.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <utility>

#include "analysis/symbol_server/file_index.h"
#include "analysis/symbol_server/server.h"
#include "apps/heaptap/commands/symbols_server.h"
#include "apps/heaptap/commands/terminal.h"
#include "common/base/exit_status.h"
#include "common/base/intervals.h"
#include "common/base/safe_text.h"
#include "common/base/stop_signals.h"
#include "common/channel/listener.h"
#include "record/remote/resolve.h"

namespace heaptap::app {
namespace {

std::string default_address() {
  const char* const directory = std::getenv("XDG_RUNTIME_DIR");
  if (directory != nullptr && *directory == '/') return std::string(directory) + "/heaptap-symbols";
  return fmt::format("/tmp/heaptap-symbols.{}", geteuid());
}

base::Result<channel::Listener> listen(const SymbolsOptions& options) {
  auto security = security_of({.token_file = options.token_file, .trusted = channel::KeyDirectory::kHosts});
  if (!security) return std::unexpected(std::move(security).error());
  const auto address = channel::parse_address(options.listen.empty() ? default_address() : options.listen);
  if (!address) return std::unexpected(address.error());
  const auto addresses = remote::resolve(*address);
  if (!addresses) return std::unexpected(addresses.error());
  return channel::Listener::listen(addresses->front(), *security, {});
}

void say(const SymbolsOptions& options, const std::string& text) {
  if (!options.quiet) print_error(fmt::format("heaptap: {}\n", text));
}

// Connector to the waiting client, with reconnection; each distinct failure is reported once.
class Caller {
 public:
  static base::Result<Caller> create(const SymbolsOptions& options) {
    auto security = security_of({.token_file = options.token_file, .trusted = channel::KeyDirectory::kHosts});
    if (!security) return std::unexpected(std::move(security).error());
    const auto address = channel::parse_address(options.connect);
    if (!address) return std::unexpected(address.error());
    auto addresses = remote::resolve(*address);
    if (!addresses) return std::unexpected(std::move(addresses).error());
    HEAPTAP_TRY(channel::check(*security, addresses->front()));
    return Caller(options, addresses->front(), *std::move(security));
  }

  void add_waits(std::vector<pollfd>& waits) const {
    if (connection_) connection_->add_waits(waits);
  }

  // An authenticated connection.
  std::optional<channel::Connection> proceed(bool is_alone, channel::Time now) {
    if (!connection_ && is_alone && now >= next_try_) {
      next_try_ = now + base::intervals().retry;
      auto made = channel::Connection::connect(address_, security_, {}, now);
      if (made) {
        connection_.emplace(*std::move(made));
      } else {
        tell(made.error().message);
      }
    }
    if (!connection_) return std::nullopt;
    connection_->proceed(now);
    if (connection_->is_ready()) {
      told_.clear();
      say(options_, fmt::format("client connected: {}", base::safe_text(connection_->peer())));
      return std::exchange(connection_, std::nullopt);
    }
    if (connection_->is_gone()) {
      tell(connection_->why());
      connection_.reset();
    }
    return std::nullopt;
  }

 private:
  Caller(const SymbolsOptions& options, channel::Address address, channel::Security security)
      : options_(options), address_(std::move(address)), security_(std::move(security)) {}

  void tell(const std::string& why) {
    if (std::exchange(told_, why) == why) return;
    say(options_, fmt::format("{}: {}; trying again", address_.to_text(), base::safe_text(why)));
  }

  const SymbolsOptions& options_;
  channel::Address address_;
  channel::Security security_;
  std::optional<channel::Connection> connection_;
  channel::Time next_try_;
  std::string told_;
};

base::Result<> serve(const SymbolsOptions& options) {
  auto directories = symbol_server::Directories::open(options.directories);
  if (!directories) return std::unexpected(std::move(directories).error());
  base::stop_signals::forward_to(0);  // before it listens: a client may end it, and must leave no file behind
  std::optional<Caller> caller;
  std::optional<channel::Listener> listener;
  if (!options.connect.empty()) {
    auto made = Caller::create(options);
    if (!made) return std::unexpected(std::move(made).error());
    caller.emplace(*std::move(made));
  } else {
    auto listening = listen(options);
    if (!listening) return std::unexpected(std::move(listening).error());
    listener.emplace(*std::move(listening));
  }
  const std::string what = caller ? "connecting to " + options.connect : "waiting at " + listener->address().to_text();
  symbol_server::FileIndex files(*std::move(directories));
  symbol_server::Answers answers(files);
  symbol_server::Server server(std::move(listener), answers);
  if (files.is_cut_off()) say(options, "too many files below the directories: not all of them are served");
  say(options,
      fmt::format("{} file{} with a build-id; {}", files.file_count(), files.file_count() == 1 ? "" : "s", what));
  bool has_more = false;
  while (base::stop_signals::requests() == 0) {
    std::vector<pollfd> waits;
    server.add_waits(waits);
    if (caller) caller->add_waits(waits);
    constexpr int kPauseMs = 500;
    (void)poll(waits.data(), waits.size(), has_more ? 0 : kPauseMs);
    const channel::Time now = channel::Clock::now();
    if (caller) {
      if (auto connection = caller->proceed(server.client_count() == 0, now)) server.add(*std::move(connection), now);
    }
    has_more = server.proceed(now);
    for (const auto& news : server.take_news()) {
      say(options, fmt::format("{}: {}", base::safe_text(news.peer), base::safe_text(news.why)));
    }
  }
  return {};
}

}  // namespace

int perform(const SymbolsOptions& options) {
  const auto done = serve(options);
  if (done) return 0;
  print_error(fmt::format("heaptap: {}\n", done.error().message));
  return base::exit_status_of(done.error().kind);
}

}  // namespace heaptap::app
