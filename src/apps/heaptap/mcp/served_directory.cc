#include "apps/heaptap/mcp/served_directory.h"

#include <algorithm>
#include <utility>

#include "common/base/safe_text.h"
#include "record/trace/run_index.h"

namespace heaptap::app {
namespace {

namespace fs = std::filesystem;

bool has_recordings_name(const fs::path& path) { return path.extension() == ".htap" || path.extension() == ".run"; }

}  // namespace

bool is_below(const fs::path& path, const fs::path& directory) {
  const auto [in_directory, in_path] = std::ranges::mismatch(directory, path);
  return in_directory == directory.end() && in_path != path.end();
}

base::Result<ServedDirectory> ServedDirectory::open(const std::string& directory) {
  ServedDirectory served;
  std::error_code error;
  served.root_ = fs::canonical(directory, error);
  if (error) return base::fail("can't open the directory '{}': {}", base::safe_text(directory), error.message());
  if (!fs::is_directory(served.root_, error)) return base::fail("'{}' is not a directory", base::safe_text(directory));
  return served;
}

base::Result<std::string> ServedDirectory::file_below(const fs::path& path) const {
  const std::string shown = base::safe_text(path.string());
  std::error_code error;
  const fs::path file = fs::canonical(path, error);
  if (error) return base::fail("'{}' can't be opened: {}", shown, error.message());
  if (!is_below(file, root_)) return base::fail("'{}' is not below the directory that this server is for", shown);
  if (!has_recordings_name(file))
    return base::fail("'{}' is not a recording: its name does not end in .htap or .run", shown);
  if (!fs::is_regular_file(file, error)) return base::fail("'{}' is not a regular file", shown);
  return file.string();
}

base::Result<std::string> ServedDirectory::recording(const std::string& name) const {
  std::error_code ignored;
  const fs::path path = fs::exists(root_ / name, ignored) ? root_ / name : fs::path(name);
  if (name.empty() || !fs::exists(path, ignored))
    return base::fail("no recording '{}': the tool list_recordings lists those of this directory",
                      base::safe_text(name));
  auto file = file_below(path);
  if (!file || !trace::is_run_index(*file)) return file;
  const auto entries = trace::read_run_index(*file);
  if (!entries) return std::unexpected(entries.error());
  for (const trace::RunEntry& entry : *entries) {
    // The path is the one that is opened when the index is read. A missing one is reported then.
    std::error_code error;
    if (!fs::exists(entry.trace, error)) continue;
    const auto trace = file_below(entry.trace);
    if (!trace) return base::fail("'{}' names a trace: {}", base::safe_text(name), trace.error().message);
    if (trace::is_run_index(*trace))
      return base::fail("'{}' names an index in place of a trace: '{}'", base::safe_text(name),
                        base::safe_text(entry.trace));
  }
  return file;
}

RecordingList ServedDirectory::list(const std::string& match, size_t limit) const {
  std::vector<std::pair<fs::file_time_type, std::string>> found;
  std::error_code error;
  const auto options = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator each(root_, options, error), end; !error && each != end;
       each.increment(error)) {
    std::error_code ignored;
    if (each->path().filename().string().starts_with('.') && each->is_directory(ignored))
      each.disable_recursion_pending();
    if (!has_recordings_name(each->path()) || each->is_symlink(ignored) || !each->is_regular_file(ignored)) continue;
    std::string name = each->path().lexically_relative(root_).string();
    if (name.contains(match)) found.emplace_back(each->last_write_time(ignored), std::move(name));
  }
  RecordingList list;
  if (error) list.error = "can't read a directory: " + error.message();
  const size_t listed = std::min(found.size(), limit);
  std::ranges::partial_sort(found, found.begin() + static_cast<ptrdiff_t>(listed), std::greater<>());
  list.older = found.size() - listed;
  for (size_t i = 0; i < listed; ++i) list.names.push_back(std::move(found[i].second));
  return list;
}

}  // namespace heaptap::app
