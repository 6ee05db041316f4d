#pragma once
#include <cstddef>
#include <string_view>

namespace heaptap::model {

// Limits for file identities from outside: linkers make no longer build-ids, the kernel no longer paths (PATH_MAX), which end with a NUL.
inline constexpr size_t kMaxBuildIdBytes = 64;
inline constexpr size_t kMaxPathBytes = 4096;

// As bytes.
constexpr bool is_build_id(std::string_view bytes) { return !bytes.empty() && bytes.size() <= kMaxBuildIdBytes; }

// Empty: unknown.
constexpr bool is_path_or_empty(std::string_view path) {
  return path.size() <= kMaxPathBytes && path.find('\0') == std::string_view::npos;
}

}  // namespace heaptap::model
