// Server that profiles are pushed to, by its address: [PROTOCOL+]http[s]://HOST[:PORT][/PATH].
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/result.h"

namespace heaptap::push {

enum class Protocol : uint8_t {
  kPyroscope,  // push.v1.PusherService/Push of Pyroscope and Alloy
  kParca,      // the HTTP gateway of Parca's WriteRaw
  kOtlp,       // OpenTelemetry's OTLP/HTTP
};

struct Destination {
  Protocol protocol = Protocol::kPyroscope;
  std::string url;    // that profiles are sent to, with the protocol's path
  std::string shown;  // without that path, for messages
  bool is_encrypted = false;
  bool is_loopback = false;  // what is sent stays on this machine
};

// An error doesn't repeat the text, which may hold a password.
base::Result<Destination> parse_destination(std::string_view text);

}  // namespace heaptap::push
