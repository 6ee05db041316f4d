#include "common/base/small_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>

#include "common/base/process_file.h"
#include "common/base/unique_fd.h"

namespace heaptap::base {

std::string read_small_file(const std::string& path, size_t max_bytes) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return {};
  std::string text;
  constexpr size_t kPiece = 65536;
  for (size_t size = 0; size < max_bytes;) {
    const size_t wanted = std::min(kPiece, max_bytes - size);
    text.resize(size + wanted);
    const ssize_t got = read(file.get(), text.data() + size, wanted);
    size += got > 0 ? static_cast<size_t>(got) : 0;
    text.resize(size);
    if (got <= 0) break;
  }
  return text;
}

std::string name_of_process(pid_t process) {
  std::string name = read_small_file(process_file(process, "comm"));
  while (name.ends_with('\n')) name.pop_back();
  return name;
}

std::string read_link(const std::string& path) {
  std::string target(PATH_MAX, '\0');
  const ssize_t bytes = readlink(path.c_str(), target.data(), target.size());
  target.resize(bytes > 0 ? static_cast<size_t>(bytes) : 0);
  return target;
}

bool exists(const std::string& path) {
  struct stat facts{};
  return lstat(path.c_str(), &facts) == 0;
}

std::string_view file_name_of(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kAround = " \t\r\n\v\f";
  const size_t begin = text.find_first_not_of(kAround);
  return begin == text.npos ? std::string_view() : text.substr(begin, text.find_last_not_of(kAround) + 1 - begin);
}

std::vector<std::string> words_of(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\v\f\r";
  std::vector<std::string> words;
  for (size_t begin = text.find_first_not_of(kSpace); begin != std::string_view::npos;) {
    const size_t end = std::min(text.find_first_of(kSpace, begin), text.size());
    words.emplace_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(kSpace, end);
  }
  return words;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

}  // namespace heaptap::base
