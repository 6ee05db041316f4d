#include "views/shell/file_names.h"

#include <algorithm>
#include <filesystem>

#include "common/base/safe_text.h"

namespace heaptap::shell {

Words file_names(const std::string& word) {
  namespace fs = std::filesystem;
  constexpr size_t kMaxNames = 5000;
  const size_t slash = word.rfind('/');
  const std::string directory = slash == word.npos ? "" : word.substr(0, slash + 1);
  const std::string begun = word.substr(directory.size());
  Words names;
  std::error_code error;
  for (fs::directory_iterator entries(directory.empty() ? "." : directory, error), end; !error && entries != end;
       entries.increment(error)) {
    const std::string name = entries->path().filename().string();
    if (!name.starts_with(begun) || (begun.empty() && name.starts_with('.')) || base::safe_text(name) != name) continue;
    std::error_code ignored;
    names.push_back(directory + name + (entries->is_directory(ignored) ? "/" : ""));
    if (names.size() == kMaxNames) break;
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace heaptap::shell
