#include "views/push/destination.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <optional>

#include "common/base/whole_number.h"

namespace heaptap::push {
namespace {

using base::ErrorKind;

struct ProtocolName {
  std::string_view prefix;
  Protocol protocol;
  std::string_view path;
};
constexpr std::array kProtocols{
    ProtocolName{"pyroscope+", Protocol::kPyroscope, "/push.v1.PusherService/Push"},
    ProtocolName{"parca+", Protocol::kParca, "/api/profiles/writeraw"},
    ProtocolName{"otlp+", Protocol::kOtlp, "/v1development/profiles"},
};

std::unexpected<base::Error> wrong(std::string_view why) {
  return base::fail_as(ErrorKind::kUsage,
                       "{}: write http://HOST:PORT or https://HOST for Pyroscope, "
                       "parca+http://HOST:PORT for Parca, otlp+http://HOST:PORT for OTLP",
                       why);
}

bool is_letter_or_digit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Strict, so that no other parser takes another part of the address for the host.
bool is_host(std::string_view host) {
  const bool is_number = host.size() > 2 && host.starts_with('[') && host.ends_with(']');
  if (is_number) {
    return std::ranges::all_of(host.substr(1, host.size() - 2), [](char c) {
      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || c == ':' || c == '.';
    });
  }
  return !host.empty() && is_letter_or_digit(host.front()) &&
         std::ranges::all_of(host, [](char c) { return is_letter_or_digit(c) || c == '-' || c == '.' || c == '_'; });
}

bool is_path(std::string_view path) {
  constexpr std::string_view kOthers = "/-._~%+:,=";
  return std::ranges::all_of(path, [&](char c) { return is_letter_or_digit(c) || kOthers.contains(c); });
}

// 127.0.0.0/8. "127.0.0.999" is a name, which may be any machine's.
bool is_loopback_number(const std::string& host) {
  in_addr address{};
  return inet_pton(AF_INET, host.c_str(), &address) == 1 && ntohl(address.s_addr) >> 24 == IN_LOOPBACKNET;
}

bool is_loopback(std::string_view host) {
  return host == "localhost" || host == "[::1]" || is_loopback_number(std::string(host));
}

struct Authority {
  std::string_view host;
  std::optional<uint16_t> port;
};

base::Result<Authority> split_authority(std::string_view text) {
  Authority parts{.host = text, .port = {}};
  const size_t bracket = text.rfind(']');
  const size_t colon = text.rfind(':');
  const bool has_port = colon != text.npos && (bracket == text.npos || colon > bracket);
  if (has_port) {
    parts.host = text.substr(0, colon);
    parts.port = base::whole_number<uint16_t>(text.substr(colon + 1));
    if (!parts.port || *parts.port == 0) return wrong("its port isn't a number from 1 to 65535");
  }
  if (!is_host(parts.host)) return wrong("it has no valid host name");
  return parts;
}

}  // namespace

base::Result<Destination> parse_destination(std::string_view text) {
  const auto* protocol =
      std::ranges::find_if(kProtocols, [text](const ProtocolName& each) { return text.starts_with(each.prefix); });
  if (protocol == kProtocols.end()) {
    protocol = kProtocols.begin();
  } else {
    text.remove_prefix(protocol->prefix.size());
  }
  Destination destination;
  destination.protocol = protocol->protocol;
  destination.is_encrypted = text.starts_with("https://");
  if (!destination.is_encrypted && !text.starts_with("http://")) return wrong("it isn't the address of a server");
  std::string_view rest = text.substr(text.find("//") + 2);
  if (rest.contains('@')) {
    return base::fail_as(ErrorKind::kUsage,
                         "its user name and password could be read by all users of this machine: leave them out, and "
                         "use HEAPTAP_PUSH_TOKEN or --push-token-file");
  }
  const std::string_view name = rest.substr(0, rest.find('/'));
  std::string_view path = rest.substr(name.size());
  if (!is_path(path)) return wrong("its path has other characters than letters, digits and /-._~%+:,=");
  const auto authority = split_authority(name);
  if (!authority) return std::unexpected(authority.error());
  destination.is_loopback = is_loopback(authority->host);
  if (path.ends_with(protocol->path)) path.remove_suffix(protocol->path.size());
  while (path.ends_with('/')) path.remove_suffix(1);
  destination.shown =
      std::string(destination.is_encrypted ? "https://" : "http://") + std::string(name) + std::string(path);
  destination.url = destination.shown + std::string(protocol->path);
  return destination;
}

}  // namespace heaptap::push
