// Names of source files: without directories, but for those that tell two files of the same name apart.
#pragma once
#include <span>
#include <string>
#include <unordered_map>

#include "model/frame.h"

namespace heaptap::report {

class FileNames {
 public:
  FileNames() = default;
  // Of all files that are shown together.
  explicit FileNames(std::span<const model::Frame> shown);

  // "cart.cc", "web/cart.cc" where there is another one.
  [[nodiscard]] std::string of(const std::string& path) const;

 private:
  std::unordered_map<std::string, std::string> with_directories_;  // by path
};

}  // namespace heaptap::report
