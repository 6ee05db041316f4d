// Owner of a file or directory, checked before something of it is believed or executed.
#pragma once
#include <sys/stat.h>
#include <unistd.h>

namespace heaptap::base {

// Whether it belongs to a user other than root and the one of this process.
inline bool is_anothers(const struct stat& status) {
  constexpr uid_t kUnmapped = 65534;  // of a user unknown in this namespace
  const bool is_roots = status.st_uid == 0 || (status.st_uid == kUnmapped && geteuid() != 0);
  return !is_roots && status.st_uid != geteuid();
}

}  // namespace heaptap::base
