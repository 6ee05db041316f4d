// What a service says of itself, and how that stands in records (RFC 6763): heaptap-target announces one instance of
// _heaptap._tcp.local with these words.
//
//   txtvers=1   of these words
//   id=…        another number each time that it starts, by which it is known to be the same over several links
//   program=    what is recorded; empty: nothing
//   cpu=        "x86_64", "aarch64", …
//   version=    of heaptap-target
//   secure=     1: those come in who prove who they are, 0: everybody
//   token=      1: by a token, 0: by keys
//   begun=      1: it records by itself, for the host that takes it over, 0: it does what a host wants
//
// A host that waits for targets to come (`heaptap run -H listen:`) announces one of _heaptap-host._tcp.local, with the same words.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "discovery/dns_name.h"
#include "discovery/reach.h"

namespace heaptap::discovery {

// Who waits.
enum class ServiceKind : uint8_t { kTarget, kHost };

struct Service {
  ServiceKind kind = ServiceKind::kTarget;
  std::string name = {};  // of the instance, what people read; empty: the host's
  uint16_t port = 0;
  std::string program = {};
  std::string cpu = {};
  std::string version = {};
  bool is_secure = false;  // those come in who prove who they are
  bool has_token = false;  // by a token, in place of keys
  bool has_begun = false;
  std::string id = {};  // empty: any
  Reach reach = {};
};

// _heaptap._tcp.local, _heaptap-host._tcp.local
Name service_type(ServiceKind kind = ServiceKind::kTarget);
Name all_types();  // RFC 6763, 9: what is asked for all types of services
// What a service is called by default, of the machine's name.
std::string default_name(std::string_view machine);
Name local_name(std::string_view label);

// The beginning of a text, cut between two characters where it is longer than this.
std::string cut_to(std::string_view text, size_t max_bytes);

// The data of its TXT record.
std::string text_data(const Service& service);
// Of the data of anybody's: the value of the first word of this name; none: there is no such word.
std::optional<std::string> text_value(std::string_view data, std::string_view name);

}  // namespace heaptap::discovery
