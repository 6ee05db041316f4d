// Output file of a command, created atomically: it appears complete or not at all. An existing pipe or device is written to in place;
// "-" is the standard output.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "common/base/result.h"
#include "common/base/unique_fd.h"

namespace heaptap::app {

class NewFile {
 public:
  // Starts a temporary file beside `path`. Fails if `path` exists and may not be replaced (`force`).
  static base::Result<NewFile> create(const std::string& path, bool force);
  NewFile(NewFile&& other) noexcept;
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile();  // removes the file unless finished

  // Path for writers that need one; renamed by `finish`. Empty: the output is a pipe or a device.
  [[nodiscard]] const std::string& temporary() const { return temporary_; }
  // Errors are reported by `finish`.
  void write(std::string_view piece);
  // Renames it into place.
  base::Result<> finish();

 private:
  NewFile(std::string path, std::string temporary, bool force, base::UniqueFd descriptor);
  void flush();

  std::string path_;
  std::string temporary_;  // empty: finished, moved from, or not a file
  size_t place_;           // slot of interruption.h
  bool force_;
  base::UniqueFd descriptor_;
  std::string kept_;  // buffered
  int error_ = 0;     // first errno
};

}  // namespace heaptap::app
