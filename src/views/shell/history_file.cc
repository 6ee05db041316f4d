#include "views/shell/history_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "common/base/unique_fd.h"

namespace heaptap::shell {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxLines = 1000;
constexpr std::streamoff kMaxBytes = 1 << 20;
constexpr mode_t kHistoryMode = 0600;
constexpr mode_t kDirectoryMode = 0700;

void make_directories(const fs::path& directory) {
  if (directory.empty() || directory == directory.root_path()) return;
  std::error_code ignored;
  if (fs::exists(directory, ignored)) return;
  make_directories(directory.parent_path());
  (void)mkdir(directory.c_str(), kDirectoryMode);
}

bool write_all(int descriptor, const std::string& text) {
  return write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

}  // namespace

std::vector<std::string> HistoryFile::load() const {
  std::error_code error;
  if (path_.empty() || !fs::is_regular_file(path_, error)) return {};
  std::ifstream file(path_, std::ios::binary | std::ios::ate);
  const std::streamoff size = file.tellg();
  const bool is_cut = size > kMaxBytes;
  file.seekg(is_cut ? size - kMaxBytes : 0);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  if (is_cut && !lines.empty()) lines.erase(lines.begin());  // a part of one
  const bool is_long = is_cut || lines.size() > 2 * kMaxLines;
  if (lines.size() > kMaxLines) lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(kMaxLines));
  if (is_long) shorten(lines);
  return lines;
}

void HistoryFile::shorten(const std::vector<std::string>& lines) const {
  const std::string temporary = path_ + "." + std::to_string(getpid());
  base::UniqueFd file(open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kHistoryMode));
  if (!file) return;
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  const bool is_written = write_all(file.get(), text);
  if (!is_written || rename(temporary.c_str(), path_.c_str()) != 0) (void)unlink(temporary.c_str());
}

void HistoryFile::add(const std::string& line) const {
  if (path_.empty() || line.find('\n') != std::string::npos) return;
  make_directories(fs::path(path_).parent_path());
  const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  const base::UniqueFd file(open(path_.c_str(), flags, kHistoryMode));
  struct stat status{};
  if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  if ((status.st_mode & 07777) != kHistoryMode) (void)fchmod(file.get(), kHistoryMode);
  (void)write_all(file.get(), line + "\n");
}

std::string usual_history_path() {
  const char* const state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && *state == '/') return std::string(state) + "/heaptap/history";
  const char* const home = std::getenv("HOME");
  if (home == nullptr || *home != '/') return "";
  return std::string(home) + "/.local/state/heaptap/history";
}

}  // namespace heaptap::shell
