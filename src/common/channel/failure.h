// Error messages of this room, built without fmt: the room is linked into a small static program.
#pragma once
#include <initializer_list>
#include <string>
#include <string_view>

#include "common/base/result.h"
#include "common/channel/session.h"

namespace heaptap::channel {

inline std::string join(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += part;
  return text;
}

inline base::Error make_error(std::initializer_list<std::string_view> parts) { return {join(parts)}; }

inline std::unexpected<base::Error> fail(std::initializer_list<std::string_view> parts) {
  return std::unexpected(make_error(parts));
}

// Whether a reason names the peer itself, as those of failed attempts do ("can't connect to PEER: …").
inline bool names_peer(std::string_view why) { return why.starts_with("can't "); }

inline base::Error why_broken(int error_number) {
  return make_error({"the connection broke: ", base::reason_of(error_number)});
}

// For the end with this role: the other one sent no valid greeting.
inline base::Error why_no_greeting(Role role) {
  if (role == Role::kConnector) {
    return make_error({"the other side is not heaptap or runs another version: check the address"});
  }
  return make_error({"invalid data from the other side: not heaptap's protocol, or another version of it"});
}

}  // namespace heaptap::channel
