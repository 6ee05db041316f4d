#include "apps/heaptap/commands/numbered_files.h"

#include <sys/stat.h>

#include <fstream>
#include <iterator>
#include <utility>

namespace heaptap::app {

NumberedFiles::NumberedFiles(std::string directory, std::string name, std::string extension)
    : directory_(std::move(directory)), name_(std::move(name)), extension_(std::move(extension)) {}

std::string NumberedFiles::path_of(size_t number) const {
  return fmt::format("{}/{}{}{}", directory_, name_, number, extension_);
}

bool NumberedFiles::is_there(size_t number) const {
  struct stat status{};
  return lstat(path_of(number).c_str(), &status) == 0;
}

base::Result<> NumberedFiles::read_earlier(const std::function<void(std::string_view text)>& take) const {
  for (size_t number = 1; is_there(number); ++number) {
    std::ifstream file(path_of(number), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (!file.good() && !file.eof()) return base::fail("can't read '{}'", path_of(number));
    take(text);
  }
  return {};
}

base::Result<> NumberedFiles::write_next(const std::function<void(const report::Write& write)>& fill) {
  return make_next([&fill](NewFile& file) -> base::Result<> {
    fill([&file](std::string_view piece) { file.write(piece); });
    return {};
  });
}

base::Result<> NumberedFiles::make_next(const std::function<base::Result<>(NewFile& file)>& fill) {
  while (is_there(next_)) ++next_;
  const std::string path = path_of(next_);
  auto file = NewFile::create(path, false);
  if (!file) return std::unexpected(std::move(file).error());
  HEAPTAP_TRY(fill(*file));
  HEAPTAP_TRY(file->finish());
  written_.push_back(path);
  return {};
}

}  // namespace heaptap::app
