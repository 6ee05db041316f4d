// Modules whose frames lack names or lines, for hints in reports. Private to symbols/.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/symbols/file_search.h"
#include "analysis/symbols/module_file.h"
#include "common/model/symbol_hint.h"

namespace heaptap::symbols {

class Hints {
 public:
  explicit Hints(AskedServers servers) : servers_(std::move(servers)) {}

  struct Subject {
    const std::string& path;
    const std::string& build_id;  // bytes
  };
  // Counts one code address, resolved to `frames` from `source`. `file`: the local file used; null: resolved elsewhere.
  void count(const Subject& module, SymbolSource source, const ModuleFile* file,
             const std::vector<model::Frame>& frames);
  // Same for code described in a split file that isn't found.
  void count_part(const std::string& path, const std::string& part, bool has_package);

  // Ordered by frames without a name, then by frames without a line (most first), then by path.
  [[nodiscard]] std::vector<model::SymbolHint> list(size_t limit) const;

 private:
  struct Lack {
    SymbolSource source = SymbolSource::kFull;
    std::string build_id;
    OtherFile other;
    uint64_t without_name = 0;
    uint64_t without_line = 0;
    bool is_unreadable = false;
    std::string part;
    bool has_package = false;
  };

  AskedServers servers_;
  std::map<std::string, Lack> lacks_;  // by path
};

}  // namespace heaptap::symbols
