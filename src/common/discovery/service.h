// Service description and its records (RFC 6763): heaptap-target announces one instance of _heaptap._tcp.local with
// these TXT keys.
//
//   txtvers=1   version of these keys
//   id=…        random for each start; identifies the service over several links
//   program=    program being recorded; empty: none
//   cpu=        "x86_64", "aarch64", …
//   version=    of heaptap-target
//   secure=     1: peers must authenticate, 0: open to all
//   token=      1: by a token, 0: by keys
//   begun=      1: records by itself, for the host that takes it over, 0: executes orders of hosts
//
// A host that waits for targets (`heaptap run -H listen:`) announces one of _heaptap-host._tcp.local, with the same keys.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/network/dns_name.h"
#include "common/network/reach.h"

namespace heaptap::discovery {

using namespace network;  // addresses, links, DNS messages

// Kind of the waiting side.
enum class ServiceKind : uint8_t { kTarget, kHost };

struct Service {
  ServiceKind kind = ServiceKind::kTarget;
  std::string name = {};  // instance name, for display; empty: the host's
  uint16_t port = 0;
  std::string program = {};
  std::string cpu = {};
  std::string version = {};
  bool is_secure = false;  // peers must authenticate
  bool has_token = false;  // by a token instead of keys
  bool has_begun = false;
  std::string id = {};  // empty: any
  Reach reach = {};
};

// _heaptap._tcp.local, _heaptap-host._tcp.local
Name service_type(ServiceKind kind = ServiceKind::kTarget);
Name all_types();  // RFC 6763, 9: name for querying all service types
Name local_name(std::string_view label);

// Truncates a text to `max_bytes`, at a character boundary.
std::string cut_to(std::string_view text, size_t max_bytes);

// Data of its TXT record.
std::string text_data(const Service& service);
// Value of the first key of this name in untrusted TXT data; none: no such key.
std::optional<std::string> text_value(std::string_view data, std::string_view name);

}  // namespace heaptap::discovery
