// heaptap's own mappings in a target. Private to scan/.
#pragma once
#include <string>
#include <string_view>

#include "capture/log/log_memory.h"
#include "capture/process/memory_map.h"
#include "common/wire/handshake.h"

namespace heaptap::scan {

// A file, or memory with that name.
inline bool is_called(std::string_view path, std::string_view name) {
  const size_t at = path.find(name);
  return at != path.npos && at != 0 && path[at - 1] == (path.starts_with("/memfd:") ? ':' : '/');
}

inline bool is_our_log(const process::Mapping& mapping) {
  return mapping.shared && is_called(mapping.name, log::kLogName);
}

inline bool is_agents_file(std::string_view path) { return is_called(path, wire::kAgentFileName); }

}  // namespace heaptap::scan
