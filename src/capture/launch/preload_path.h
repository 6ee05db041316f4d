// Path of the agent for LD_PRELOAD, which is a list separated by blanks and colons with $ as an escape: if heaptap's
// directory contains one of these, the path is a symbolic link in a temporary directory, removed with this object. The
// same for an agent that is an open file of a process (/proc/PID/fd/N), since reports recognize the agent by its name.
// Another user can't open such a file, and gets a copy; so does a program if the agent's file system is mounted noexec.
#pragma once
#include <string>

#include "common/base/result.h"

namespace heaptap::launch {

class PreloadPath {
 public:
  // `for_others`: the program runs as another user.
  static base::Result<PreloadPath> create(const std::string& agent, bool for_others = false);

  PreloadPath(PreloadPath&& other) noexcept;
  PreloadPath& operator=(PreloadPath&&) = delete;
  PreloadPath(const PreloadPath&) = delete;
  PreloadPath& operator=(const PreloadPath&) = delete;
  ~PreloadPath();

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  PreloadPath(std::string path, std::string directory) : path_(std::move(path)), directory_(std::move(directory)) {}

  std::string path_;
  std::string directory_;  // directory of the link; empty: none
};

}  // namespace heaptap::launch
