// A path by which the loader finds the agent. LD_PRELOAD is a list, divided at blanks and colons, in which $ begins a name: where
// heaptap lives in a directory with one of these, this is a link in a directory of its own, which goes with this object.
#pragma once
#include <string>

#include "base/result.h"

namespace heaptap::collect {

class PreloadPath {
 public:
  static base::Result<PreloadPath> create(const std::string& agent);

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
