// Lines of source files for an assistant. The files' names come from debug information, and a trace may name any program with any
// debug information: nothing is read but regular files with a source file's extension, below directories that the user chose.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "common/base/result.h"

namespace heaptap::app {

class SourceLines {
 public:
  // `roots`: directories; one that doesn't exist is an error.
  static base::Result<SourceLines> create(const std::vector<std::string>& roots);

  // The line with `around` ones on both sides, numbered and safe for a terminal. The error says why there are none.
  [[nodiscard]] base::Result<std::string> lines(const std::string& file, uint32_t line, uint32_t around) const;
  // Whether the file was changed after that time; false also if it isn't known.
  [[nodiscard]] bool is_newer(const std::string& file, uint64_t unix_ns) const;

 private:
  // The file's own path, if it may be read.
  [[nodiscard]] base::Result<std::filesystem::path> allowed(const std::string& file) const;

  std::vector<std::filesystem::path> roots_;  // canonical
};

}  // namespace heaptap::app
