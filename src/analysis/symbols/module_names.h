// Symbols of one module, to be served to clients. Files are found by build-id alone.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/symbols/file_provider.h"
#include "analysis/symbols/name_source.h"
#include "analysis/symbols/resolver.h"
#include "common/model/frame.h"

namespace heaptap::symbols {

class ModuleNames {
 public:
  // Never fails: see level(). The provider must outlive this.
  ModuleNames(FileProvider& provider, const std::string& build_id);
  ~ModuleNames();
  ModuleNames(const ModuleNames&) = delete;
  ModuleNames& operator=(const ModuleNames&) = delete;

  [[nodiscard]] SymbolLevel level() const;
  // Frames of the instruction at a link-time address, innermost first; at least one. Function, symbol, file, line, inlined are set.
  std::vector<model::Frame> frames_at(uint64_t address);
  std::optional<Variable> variable_at(uint64_t address, bool is_thread_local);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace heaptap::symbols
