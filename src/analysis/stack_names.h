// Names for whole stacks, and whether a stack passes the filters by name.
#pragma once
#include <boost/unordered/unordered_flat_map.hpp>
#include <vector>

#include "analysis/name_filter.h"
#include "model/tables.h"
#include "symbols/resolver.h"

namespace heaptap::analysis {

class StackNames {
 public:
  StackNames(symbols::ResolverOptions options, std::string function, std::string module)
      : resolver_(std::move(options)), function_(std::move(function)), module_(std::move(module)) {}

  // Innermost first, inlined frames included; at most `depth` of them (0: all).
  std::vector<model::Frame> frames_of(const model::Tables& tables, model::StackId stack, uint32_t depth);

  [[nodiscard]] bool filters() const { return !function_.empty() || !module_.empty(); }

  // Whether one frame of the stack (or the called function itself) has the function's name, and one the module's.
  bool passes(const model::Tables& tables, const model::Site& site);

  [[nodiscard]] symbols::Resolver& resolver() { return resolver_; }
  [[nodiscard]] std::vector<model::SymbolHint> hints(size_t limit) const { return resolver_.hints(limit); }

 private:
  struct Match {
    bool function = false;
    bool module = false;
  };
  Match match_of(const model::Tables& tables, model::CodeId code);

  symbols::Resolver resolver_;
  NameFilter function_;
  NameFilter module_;
  boost::unordered_flat_map<model::CodeId, Match> matches_;
};

}  // namespace heaptap::analysis
