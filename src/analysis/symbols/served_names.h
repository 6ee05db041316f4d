// One module's symbols from a NameSource, requested in batches and cached. Private to symbols/.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/symbols/name_source.h"
#include "common/model/tables.h"

namespace heaptap::symbols {

class ServedNames {
 public:
  ServedNames(NameSource& source, std::string build_id, SymbolLevel level)
      : source_(source), build_id_(std::move(build_id)), level_(level) {}

  [[nodiscard]] SymbolLevel level() const { return level_; }
  // Frames of a code in this module; the request includes codes that follow it in the trace. Null: unknown to the source.
  const std::vector<model::Frame>* frames_at(const model::Module& module, const model::Tables& tables,
                                             const model::Code& code);
  const Variable* variable_at(uint64_t address, bool is_thread_local);

 private:
  static constexpr size_t kAtOnce = 1000;

  void ask(const model::Module& module, const model::Tables& tables, const model::Code& first);

  NameSource& source_;
  std::string build_id_;
  SymbolLevel level_;
  std::unordered_map<uint64_t, std::optional<std::vector<model::Frame>>> frames_;  // by link-time address
  std::unordered_map<uint64_t, std::optional<Variable>> variables_[2];             // of data, thread-local
};

}  // namespace heaptap::symbols
