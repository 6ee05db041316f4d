// Files that decide who gets in: private ones, which their owner alone may read, and lists, which others may not write.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace heaptap::channel {

enum class FileAccess : uint8_t {
  kReadByOwner,    // nobody else may read or write it
  kWrittenByOwner  // others may read it
};

// The text of a regular file of this user's or root's, at most `max_bytes` and one more. None: there is no such file. `what` is for
// errors: "token file".
base::Result<std::optional<std::string>> read_owned_file(const std::string& path, std::string_view what,
                                                         FileAccess access, size_t max_bytes);

}  // namespace heaptap::channel
