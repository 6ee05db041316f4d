#include "analysis/findings/file_names.h"

#include <set>
#include <string_view>
#include <vector>

namespace heaptap::findings {
namespace {

// The last `parts` parts of a path; the whole path if it has fewer.
std::string_view last_parts(std::string_view path, size_t parts) {
  size_t begin = path.size();
  for (; parts > 0 && begin != path.npos && begin > 0; --parts) begin = path.rfind('/', begin - 1);
  return begin == path.npos || begin == 0 ? path : path.substr(begin + 1);
}

}  // namespace

FileNames::FileNames(std::span<const model::Frame> shown) {
  std::set<std::string_view> paths;
  for (const model::Frame& frame : shown) {
    if (!frame.file.empty()) paths.insert(frame.file);
  }
  constexpr size_t kMaxParts = 32;
  std::vector<std::string_view> alike(paths.begin(), paths.end());
  for (size_t parts = 1; !alike.empty() && parts <= kMaxParts; ++parts) {
    std::unordered_map<std::string_view, size_t> counts;
    for (const std::string_view path : alike) ++counts[last_parts(path, parts)];
    std::erase_if(alike, [&](std::string_view path) {
      const std::string_view name = last_parts(path, parts);
      if (counts[name] > 1) return false;
      if (parts > 1) with_directories_.emplace(path, name);
      return true;
    });
  }
  for (const std::string_view path : alike) with_directories_.emplace(path, path);
}

std::string FileNames::of(const std::string& path) const {
  const auto found = with_directories_.find(path);
  return found != with_directories_.end() ? found->second : path.substr(path.rfind('/') + 1);
}

}  // namespace heaptap::findings
