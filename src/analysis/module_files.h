// Which file a module's path led to on the target's machine: what Valgrind's suppressions name, where the loader names a link.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/tables.h"

namespace heaptap::analysis {

class ModuleFiles {
 public:
  ModuleFiles() = default;
  // The modules have to outlive it.
  explicit ModuleFiles(const std::vector<model::Module>& modules) {
    for (const model::Module& module : modules) {
      if (!module.file.empty()) files_.insert_or_assign(module.path, module.file);
    }
  }

  // The path itself where nothing else is known.
  [[nodiscard]] std::string_view of(std::string_view path) const {
    const auto found = files_.find(path);
    return found == files_.end() ? path : found->second;
  }

 private:
  std::map<std::string_view, std::string_view> files_;  // by path
};

}  // namespace heaptap::analysis
