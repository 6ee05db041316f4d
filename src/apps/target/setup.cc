#include "apps/target/setup.h"

#include <poll.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "apps/target/announced_host.h"
#include "apps/target/carried_agent.h"
#include "apps/target/file_news.h"
#include "apps/target/host_by_name.h"
#include "apps/target/host_command.h"
#include "common/base/safe_text.h"
#include "common/base/sizes.h"
#include "common/base/small_file.h"
#include "common/channel/listener.h"
#include "common/wire/handshake.h"

namespace heaptap::target {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;

// In a directory in which no other user can place a socket of that name first.
std::string default_address() {
  if (geteuid() == 0) return "/run/heaptap-target";
  const char* const directory = std::getenv("XDG_RUNTIME_DIR");
  if (directory != nullptr && *directory == '/') return std::string(directory) + "/heaptap-target";
  return "/tmp/heaptap-target." + std::to_string(geteuid());
}

std::string find_agent(const Options& options) {
  if (!options.agent.empty()) return options.agent;
  const std::string own = base::read_link("/proc/self/exe");
  const std::string directory = own.substr(0, own.size() - base::file_name_of(own).size());
  for (const char* const place : {"", "../lib/heaptap/"}) {
    std::string candidate = directory + place + wire::kAgentFileName;
    if (base::exists(candidate)) return candidate;
  }
  return unpack_carried_agent();
}

// Whether the peer has to prove a key known here.
base::Result<std::unique_ptr<uplink::ConnectionSource>> go_to_announced(const Options& options,
                                                                        const channel::Security& security) {
  const std::string& name = options.address;
  if (!security.token && (!security.keys || security.keys->trusted.empty())) {
    return base::fail(
        "no host is paired with this machine{}, and announcements are not authenticated: `heaptap pair` on the host "
        "prints what to type here; or give both a token (heaptap-target token)",
        name.empty() ? "" : " under the name '" + name + "'");
  }
  say(options, name.empty() ? "looking for a waiting host" : "looking for the host '" + name + "'");
  return std::make_unique<uplink::Connector>(name.empty() ? "a host" : name, security, announced_host(name));
}

// Whether it can print without waiting for its reader.
bool can_complain() {
  pollfd terminal{STDERR_FILENO, POLLOUT, 0};
  return poll(&terminal, 1, 0) > 0;
}

}  // namespace

void say(const Options& options, const std::string& line) {
  if (!options.quiet) complain(line);
}

void complain(const std::string& line) {
  const std::string text = "heaptap-target: " + base::safe_text(line) + "\n";  // possibly text of a host
  // A closed terminal is no error.
  if (write(STDERR_FILENO, text.data(), text.size()) < 0) return;
}

void warn(const std::string& line) {
  if (can_complain()) complain(line);
}

void log(const std::string& line) {
  static int missing = 0;
  if (!can_complain()) {
    ++missing;
    return;
  }
  if (missing > 0)
    complain(std::to_string(std::exchange(missing, 0)) + " lines were dropped here: the output was not read");
  complain(line);
}

uplink::TargetOptions target_options(const Options& options) {
  uplink::TargetOptions target{.agent = find_agent(options),
                               .gives_memory = !options.no_scan_data,
                               .log_memory_bytes = options.log_memory_bytes};
  if (options.orphan_timeout) target.orphan_timeout = *options.orphan_timeout;
  target.exit_wait = options.exit_wait;
  target.duration = options.duration;
  target.compression = options.compression;
  target.gives_files = !options.no_fetch;
  target.tell_of_wait = [](const supervision::StandingThread& thread) { warn(text_of(thread)); };
  target.tell_of_tracer = [](const supervision::TracingNews& news) {
    if (const std::string text = text_of(news); !text.empty()) warn(text);
  };
  target.policy = {.attach_only = options.attach_only, .allowed = options.allowed, .has_user = !options.user.empty()};
  return target;
}

size_t buffer_bytes(const Options& options) {
  return options.buffer_bytes > 0 ? base::at_most(SIZE_MAX, options.buffer_bytes) : kBufferBytes;
}

base::Result<channel::Security> security_of(const Options& options) {
  return channel::read_security(
      {.token_file = options.token_file,
       .directory = options.keys.empty() ? std::nullopt : std::optional(channel::KeyDirectory(options.keys)),
       .trusted = channel::KeyDirectory::kHosts,
       .target = options.goes_by_announcement() ? options.address : "",
       .is_name = true});
}

base::Result<std::unique_ptr<uplink::ConnectionSource>> listen(const Options& options,
                                                               const channel::Security& security,
                                                               Announcement& announcement) {
  const auto address = channel::parse_address(options.address.empty() ? default_address() : options.address);
  if (!address) return std::unexpected(address.error());
  auto listener = channel::Listener::listen(*address, security, {});
  if (!listener) return std::unexpected(std::move(listener).error());
  if (options.announce) {
    HEAPTAP_TRY(announcement.begin(listener->address(), security.token.has_value(), options.begins_by_itself()));
    if (!announcement.is_heard()) say(options, "--announce: not announced: no local network has that address now");
  }
  say(options, "waiting at " + listener->address().to_text() + "; on the host: " +
                   command_on_host(listener->address(), security.token.has_value(), options.begins_by_itself()));
  return std::make_unique<uplink::Acceptor>(*std::move(listener));
}

base::Result<std::unique_ptr<uplink::ConnectionSource>> go_to(const Options& options,
                                                              const channel::Security& security) {
  if (options.goes_by_announcement()) return go_to_announced(options, security);
  const auto address = channel::parse_address(options.address);
  if (!address) return std::unexpected(address.error());
  HEAPTAP_TRY(channel::check(security, *address));
  say(options, "connecting to " + address->to_text());
  std::unique_ptr<uplink::AddressFinder> finder;
  if (address->is_name()) finder = std::make_unique<HostByName>(address->text(), address->port());
  return std::make_unique<uplink::Connector>(*address, security, std::move(finder));
}

void tell(const Options& options, const line::LineNews& news) {
  if (news.kind != line::LineNews::Kind::kRefused) return say(options, news.text);
  if (!can_complain()) return;
  const std::string others = news.others > 0 ? "; so were " + std::to_string(news.others) + " others before it" : "";
  complain(news.peer + " was refused: " + news.text + others);
}

std::string program_of(const line::RecordOrder& order) {
  if (!order.command.empty()) return std::string(base::file_name_of(order.command.front()));
  return base::name_of_process(order.processes.front());
}

}  // namespace heaptap::target
