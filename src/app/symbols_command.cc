#include "app/symbols_command.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cstdlib>

#include "app/symbols_server.h"
#include "app/terminal.h"
#include "base/exit_status.h"
#include "base/safe_text.h"
#include "channel/listener.h"
#include "channel/resolve.h"
#include "collect/stop_signals.h"
#include "symbol_server/file_index.h"
#include "symbol_server/server.h"

namespace heaptap::app {
namespace {

std::string default_address() {
  const char* const folder = std::getenv("XDG_RUNTIME_DIR");
  if (folder != nullptr && *folder == '/') return std::string(folder) + "/heaptap-symbols";
  return fmt::format("/tmp/heaptap-symbols.{}", geteuid());
}

base::Result<channel::Listener> listen(const SymbolsOptions& options) {
  auto security = security_of({.token_file = options.token_file, .trusted = channel::KeyFolder::kHosts});
  if (!security) return std::unexpected(std::move(security).error());
  const auto address = channel::parse_address(options.listen.empty() ? default_address() : options.listen);
  if (!address) return std::unexpected(address.error());
  const auto addresses = channel::resolve(*address);
  if (!addresses) return std::unexpected(addresses.error());
  return channel::Listener::listen(addresses->front(), *security, {});
}

void say(const SymbolsOptions& options, const std::string& text) {
  if (!options.quiet) print_error(fmt::format("heaptap: {}\n", text));
}

base::Result<> serve(const SymbolsOptions& options) {
  auto folders = symbol_server::Folders::open(options.folders);
  if (!folders) return std::unexpected(std::move(folders).error());
  auto listener = listen(options);
  if (!listener) return std::unexpected(std::move(listener).error());
  collect::stop_signals::forward_to(0);  // from here on they end it
  symbol_server::FileIndex files(*std::move(folders));
  symbol_server::Answers answers(files);
  symbol_server::Server server(*std::move(listener), answers);
  if (files.is_cut_off()) say(options, "there is too much below the folders: not all of it is looked at");
  say(options, fmt::format("{} file{} with a build-id; waiting at {}", files.file_count(),
                           files.file_count() == 1 ? "" : "s", server.address().to_text()));
  bool has_more = false;
  while (collect::stop_signals::requests() == 0) {
    std::vector<pollfd> waits;
    server.add_waits(waits);
    constexpr int kPauseMs = 500;
    (void)poll(waits.data(), waits.size(), has_more ? 0 : kPauseMs);
    has_more = server.proceed(channel::Clock::now());
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
