// Files of one name with a number each, in a directory: NAME1.ext, NAME2.ext, …
#pragma once
#include <string>
#include <vector>

#include "base/result.h"

namespace heaptap::app {

class NumberedFiles {
 public:
  NumberedFiles(std::string directory, std::string name, std::string extension);

  // The texts of those that are there, from 1 up to the last one.
  [[nodiscard]] base::Result<std::vector<std::string>> read() const;
  // The path of the first one that isn't there.
  [[nodiscard]] std::string next() const;

 private:
  [[nodiscard]] std::string path_of(size_t number) const;
  [[nodiscard]] bool is_there(size_t number) const;

  std::string directory_;
  std::string name_;
  std::string extension_;
};

}  // namespace heaptap::app
