// Errors of this room, put together without fmt: the room is linked into a small static program.
#pragma once
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/result.h"

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

}  // namespace heaptap::channel
