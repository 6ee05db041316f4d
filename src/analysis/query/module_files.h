// Files behind module paths on the target's machine: Valgrind's suppressions name these, where the loader names a symbolic link.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/model/tables.h"

namespace heaptap::query {

class ModuleFiles {
 public:
  ModuleFiles() = default;
  // The modules must outlive this.
  explicit ModuleFiles(const std::vector<model::Module>& modules) {
    for (const model::Module& module : modules) {
      if (!module.file.empty()) files_.insert_or_assign(module.path, module.file);
    }
  }

  // The path itself if its file is unknown.
  [[nodiscard]] std::string_view of(std::string_view path) const {
    const auto found = files_.find(path);
    return found == files_.end() ? path : found->second;
  }

 private:
  std::map<std::string_view, std::string_view> files_;  // by path
};

}  // namespace heaptap::query
