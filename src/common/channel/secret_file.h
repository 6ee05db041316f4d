// Files for access control: private ones, readable only by their owner, and lists, writable only by their owner.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/result.h"

namespace heaptap::channel {

enum class FileAccess : uint8_t {
  kReadByOwner,    // not readable or writable by others
  kWrittenByOwner  // readable by others
};

// Text of a regular file owned by this user or root, up to `max_bytes` plus one. None: no such file. `what` is for
// error messages: "token file".
base::Result<std::optional<std::string>> read_owned_file(const std::string& path, std::string_view what,
                                                         FileAccess access, size_t max_bytes);

}  // namespace heaptap::channel
