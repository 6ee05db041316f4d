#include "apps/heaptap/commands/trace_list.h"

#include <algorithm>
#include <filesystem>
#include <set>

namespace heaptap::app {
namespace {

namespace fs = std::filesystem;

base::Result<std::vector<std::string>> traces_in(const std::string& directory) {
  std::error_code error;
  std::vector<std::string> found;
  for (fs::directory_iterator entries(directory, error), end; !error && entries != end; entries.increment(error)) {
    const fs::path& path = entries->path();
    std::error_code ignored;
    if (path.extension() == ".htap" && !entries->is_symlink(ignored)) found.push_back(path.string());
  }
  if (error) return base::fail("can't read the directory '{}': {}", directory, error.message());
  if (found.empty()) return base::fail("no trace (*.htap) in the directory '{}'", directory);
  std::ranges::sort(found);
  return found;
}

}  // namespace

base::Result<std::vector<std::string>> list_traces(const std::vector<std::string>& words) {
  std::vector<std::string> traces;
  std::set<fs::path> seen;
  for (const std::string& word : words) {
    std::error_code error;
    std::vector<std::string> named{word};
    if (fs::is_directory(word, error)) {
      auto found = traces_in(word);
      if (!found) return std::unexpected(std::move(found).error());
      named = std::move(*found);
    }
    for (std::string& trace : named) {
      const fs::path file = fs::weakly_canonical(trace, error);
      if (seen.insert(error ? fs::path(trace) : file).second) traces.push_back(std::move(trace));
    }
  }
  return traces;
}

}  // namespace heaptap::app
