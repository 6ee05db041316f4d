// Writing to a descriptor until all is written.
#pragma once
#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace heaptap::base {

// False: an error, which errno has; what came before it is written.
inline bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(file, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

}  // namespace heaptap::base
