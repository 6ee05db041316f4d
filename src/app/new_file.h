// A file that a command makes: it appears whole, under its name, or not at all. What is there and no file, a pipe or a device,
// is written to and stays what it is; - is the standard output.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace heaptap::app {

class NewFile {
 public:
  // Begins a temporary file beside `path`. Fails where `path` is there already and may not be replaced (`force`).
  static base::Result<NewFile> create(const std::string& path, bool force);
  NewFile(NewFile&& other) noexcept;
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile();  // without `finish` nothing is left

  // For a writer that needs a path: the file that gets its name by `finish`. Empty: it goes to a pipe or a device.
  [[nodiscard]] const std::string& temporary() const { return temporary_; }
  // What fails is said by `finish`.
  void write(std::string_view piece);
  // Gives it its name.
  base::Result<> finish();

 private:
  NewFile(std::string path, std::string temporary, bool force, base::UniqueFd descriptor);
  void flush();

  std::string path_;
  std::string temporary_;  // empty: finished, moved from, or nothing to be named
  size_t place_;           // among the files that an interruption removes
  bool force_;
  base::UniqueFd descriptor_;
  std::string kept_;  // not written so far
  int error_ = 0;     // the first one
};

}  // namespace heaptap::app
