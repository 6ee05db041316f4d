#include "app/numbered_files.h"

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

base::Result<std::vector<std::string>> NumberedFiles::read() const {
  std::vector<std::string> texts;
  for (size_t number = 1; is_there(number); ++number) {
    std::ifstream file(path_of(number), std::ios::binary);
    texts.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    if (!file.good() && !file.eof()) return base::fail("can't read '{}'", path_of(number));
  }
  return texts;
}

std::string NumberedFiles::next() const {
  size_t number = 1;
  while (is_there(number)) ++number;
  return path_of(number);
}

}  // namespace heaptap::app
