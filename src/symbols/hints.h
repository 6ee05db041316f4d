// Which modules' frames lacked names or lines. Private to symbols/.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/symbol_hint.h"
#include "symbols/module_file.h"

namespace heaptap::symbols {

class Hints {
 public:
  explicit Hints(bool asked_debuginfod) : asked_debuginfod_(asked_debuginfod) {}

  struct Subject {
    const std::string& path;
    const std::string& build_id;  // bytes
  };
  // One code address of a module was resolved to `frames`, by this much. `file`: where the module was looked for; null: elsewhere.
  void count(const Subject& module, SymbolSource source, const ModuleFile* file,
             const std::vector<model::Frame>& frames);
  // The same of code that more is said of in a file that isn't found.
  void count_part(const std::string& path, const std::string& part, bool has_package);

  // Those with most frames without a name first, then those with most without a line, then by path.
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

  bool asked_debuginfod_;
  std::map<std::string, Lack> lacks_;  // by path
};

}  // namespace heaptap::symbols
