#include "apps/heaptap/commands/symbols_server.h"

#include <fmt/format.h>

#include <utility>

#include "apps/heaptap/commands/terminal.h"
#include "common/base/stop_signals.h"
#include "record/remote/resolve.h"
#include "views/shell/interrupts.h"

namespace heaptap::app {

base::Result<channel::Security> security_of(const channel::SecuritySources& sources) {
  auto security = channel::read_security(sources);
  // The variable is removed once it was read.
  static std::optional<channel::Token> of_environment;
  if (security && sources.token_file.empty()) {
    if (security->token) of_environment = security->token;
    security->token = of_environment;
  }
  return security;
}

base::Result<> SymbolsServer::set_address(const std::string& text) {
  constexpr std::string_view kListenPrefix = "listen:";
  listens_ = text.starts_with(kListenPrefix);
  const auto address = channel::parse_address(listens_ ? text.substr(kListenPrefix.size()) : text);
  if (!address) return std::unexpected(address.error());
  name_ = text;
  address_ = *address;
  return {};
}

std::shared_ptr<SymbolsServer> SymbolsServer::anew() const {
  auto server = std::make_shared<SymbolsServer>();
  server->name_ = name_;
  server->address_ = address_;
  server->listens_ = listens_;
  server->token_file_ = token_file_;
  server->security_ = security_;
  return server;
}

std::vector<std::string> SymbolsServer::words() const {
  std::vector<std::string> words{"--symbols-server=" + name_};
  if (!token_file_.empty()) words.push_back("--token-file=" + token_file_);
  return words;
}

base::Result<> SymbolsServer::prepare() {
  if (security_) return {};
  auto security = security_of({.token_file = token_file_, .target = listens_ ? "" : name_});
  if (!security) return std::unexpected(std::move(security).error());
  security_ = *std::move(security);
  return {};
}

base::Result<std::unique_ptr<symbol_server::Client>> SymbolsServer::make_client() {
  HEAPTAP_TRY(prepare());
  if (!address_) return base::fail("no symbol server given");
  auto addresses = remote::resolve(*address_);
  if (!addresses) return std::unexpected(std::move(addresses).error());
  for (const channel::Address& each : *addresses) HEAPTAP_TRY(channel::check(*security_, each));
  constexpr std::chrono::seconds kConnecting{5};
  constexpr std::chrono::seconds kComing{60};  // for a server, which retries
  std::shared_ptr<channel::Listener> listener;
  if (listens_) {
    auto listening = channel::Listener::listen(addresses->front(), *security_, {});
    if (!listening) return std::unexpected(std::move(listening).error());
    listener = std::make_shared<channel::Listener>(*std::move(listening));
    print_error(
        fmt::format("heaptap: waiting at {} for heaptap symbols serve --connect\n", listener->address().to_text()));
  }
  return std::make_unique<symbol_server::Client>(symbol_server::ClientOptions{
      .name = listens_ ? "the symbol server" : fmt::format("the symbol server at {}", name_),
      .addresses = *std::move(addresses),
      .listener = std::move(listener),
      .security = *security_,
      .tell = [](const base::Error& why) { print_error(fmt::format("heaptap: warning: {}\n", why.message)); },
      // Signals that end the program end this, too; if the recording counts them, a further one after that which ended
      // the recording.
      .is_interrupted =
          [before = base::stop_signals::requests()] {
            return base::stop_signals::requests() > before || shell::is_interrupted();
          },
      .connecting = listens_ ? kComing : kConnecting});
}

symbol_server::Client* SymbolsServer::client() {
  const std::scoped_lock lock(mutex_);
  if (std::exchange(has_tried_, true)) return client_.get();
  auto made = make_client();
  if (made) {
    client_ = *std::move(made);
  } else {
    print_error(fmt::format("heaptap: warning: no symbols from {}: {}\n", name_, made.error().message));
  }
  return client_.get();
}

symbols::SymbolLevel SymbolsServer::level_of(const std::string& build_id) {
  symbol_server::Client* const server = client();
  return server != nullptr ? server->level_of(build_id) : symbols::SymbolLevel::kNothing;
}

std::vector<std::vector<model::Frame>> SymbolsServer::frames_at(const std::string& build_id,
                                                                std::span<const uint64_t> addresses) {
  symbol_server::Client* const server = client();
  return server != nullptr ? server->frames_at(build_id, addresses) : std::vector<std::vector<model::Frame>>();
}

std::optional<symbols::Variable> SymbolsServer::variable_at(const std::string& build_id, uint64_t address,
                                                            bool is_thread_local) {
  symbol_server::Client* const server = client();
  return server != nullptr ? server->variable_at(build_id, address, is_thread_local) : std::nullopt;
}

model::RowTable SymbolsServer::rows_of(const std::string& build_id, std::optional<uint64_t> wanted) {
  symbol_server::Client* const server = client();
  return server != nullptr ? server->rows_of(build_id, wanted) : model::RowTable();
}

}  // namespace heaptap::app
