// A path by which the loader finds the agent. LD_PRELOAD is a list, divided at blanks and colons, in which $ begins a name: where
// heaptap lives in a directory with one of these, this is a link in a directory of its own, which goes with this object. So it is
// with an agent that is a process's open file (/proc/PID/fd/N): reports know the agent by its name. Who isn't that process's user
// can't open such a file: for him there is a copy. So there is of an agent on a file system from which nothing is executed.
#pragma once
#include <string>

#include "base/result.h"

namespace heaptap::collect {

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
  PreloadPath(std::string path, std::string folder) : path_(std::move(path)), folder_(std::move(folder)) {}

  std::string path_;
  std::string folder_;  // of the link; empty: there is none
};

}  // namespace heaptap::collect
