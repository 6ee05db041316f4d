// Short names of source files: without directories, except those needed to tell equal names apart.
#pragma once
#include <span>
#include <string>
#include <unordered_map>

#include "common/model/frame.h"

namespace heaptap::findings {

class FileNames {
 public:
  FileNames() = default;
  // `shown`: all frames displayed together.
  explicit FileNames(std::span<const model::Frame> shown);

  // "cart.cc"; "web/cart.cc" if there is another cart.cc.
  [[nodiscard]] std::string of(const std::string& path) const;

 private:
  std::unordered_map<std::string, std::string> with_directories_;  // by path
};

}  // namespace heaptap::findings
