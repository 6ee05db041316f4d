#include "apps/heaptap/mcp/source_lines.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "apps/heaptap/mcp/served_directory.h"
#include "common/base/safe_text.h"
#include "common/base/small_file.h"
#include "common/base/unique_fd.h"
#include "views/html/sources.h"

namespace heaptap::app {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxSourceFileBytes = size_t{8} << 20;
constexpr size_t kMaxShownLineBytes = 160;
constexpr uint64_t kSecondNs = 1'000'000'000;

std::string shown_line(std::string line) {
  if (line.ends_with('\r')) line.pop_back();
  const bool is_cut = line.size() > kMaxShownLineBytes;
  if (is_cut) line.resize(kMaxShownLineBytes);
  for (size_t at = line.find('\t'); at != std::string::npos; at = line.find('\t', at)) line.replace(at, 1, "    ");
  return base::safe_text(line) + (is_cut ? " ..." : "");
}

// Never waits, as a FIFO in the file's place would make it.
base::Result<std::string> read_regular_file(const fs::path& path) {
  const base::UniqueFd file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file) return base::fail("the file can't be opened: {}", base::reason_of(errno));
  struct stat facts{};
  if (fstat(file.get(), &facts) != 0) return base::fail("the file can't be read: {}", base::reason_of(errno));
  if (!S_ISREG(facts.st_mode)) return base::fail("not a regular file");
  if (static_cast<uint64_t>(facts.st_size) > kMaxSourceFileBytes)
    return base::fail("the file is larger than {} MiB", kMaxSourceFileBytes >> 20);
  std::string text(static_cast<size_t>(facts.st_size), '\0');
  size_t size = 0;
  while (size < text.size()) {
    const ssize_t count = read(file.get(), text.data() + size, text.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return base::fail("the file can't be read: {}", base::reason_of(errno));
    if (count == 0) break;  // it was cut while it was read
    size += static_cast<size_t>(count);
  }
  text.resize(size);
  return text;
}

}  // namespace

base::Result<SourceLines> SourceLines::create(const std::vector<std::string>& roots) {
  SourceLines sources;
  for (const std::string& root : roots) {
    const auto directory = ServedDirectory::open(root);
    if (!directory) return std::unexpected(directory.error());
    sources.roots_.push_back(directory->root());
  }
  return sources;
}

base::Result<fs::path> SourceLines::allowed(const std::string& file) const {
  const fs::path named(file);
  // A relative name is what the compiler was called with.
  const bool is_relative = named.is_relative();
  for (const fs::path& root : roots_) {
    std::error_code error;
    fs::path path = fs::canonical(is_relative ? root / named : named, error);
    const bool is_in =
        !error && std::ranges::any_of(roots_, [&](const fs::path& each) { return is_below(path, each); });
    if (!is_in) continue;
    if (!html::is_source_name(file) || !html::is_source_name(path.string())) return base::fail("not a source file");
    return path;
  }
  return base::fail("not found below the directory served or a directory of --sources, so it isn't read");
}

base::Result<std::string> SourceLines::lines(const std::string& file, uint32_t line, uint32_t around) const {
  const auto path = allowed(file);
  if (!path) return std::unexpected(path.error());
  const auto text = read_regular_file(*path);
  if (!text) return std::unexpected(text.error());
  const std::vector<std::string> all = base::split(*text, '\n');
  if (line == 0 || line > all.size()) return base::fail("it has no line {}", line);
  const size_t begin = line - std::min(line - 1, around);
  const size_t end = std::min<size_t>(all.size(), size_t{line} + around);
  std::string listed;
  for (size_t number = begin; number <= end; ++number)
    listed += fmt::format("{} {:>5}  {}\n", number == line ? '>' : ' ', number, shown_line(all[number - 1]));
  return listed;
}

bool SourceLines::is_newer(const std::string& file, uint64_t unix_ns) const {
  const auto path = allowed(file);
  struct stat facts{};
  if (!path || unix_ns == 0 || stat(path->c_str(), &facts) != 0) return false;
  return static_cast<uint64_t>(facts.st_mtim.tv_sec) > unix_ns / kSecondNs;
}

}  // namespace heaptap::app
