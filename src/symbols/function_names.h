// Names of functions from DWARF: the linkage name where there is one, else the plain name behind its namespaces and
// classes, as far as the unit's walk has told them. Private to symbols/.
#pragma once
#include <elfutils/libdw.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace heaptap::symbols {

struct FunctionName {
  std::string text;          // as people write it
  std::string linkage;       // its linkage name; empty where it has none
  std::string plain;         // DW_AT_name up to its template arguments; empty with a linkage name
  bool is_complete = false;  // from a linkage name, so with the types of the parameters
};

class FunctionNames {
 public:
  static constexpr uint32_t kNoScope = std::numeric_limits<uint32_t>::max();

  // `walk_unit` is called with a DIE whose scope is wanted, to note() those of its unit if that wasn't done yet.
  explicit FunctionNames(std::function<void(Dwarf_Die)> walk_unit) : walk_unit_(std::move(walk_unit)) {}

  // A namespace or class inside `parent`. The number is for note().
  uint32_t add_scope(Dwarf* dwarf, Dwarf_Off offset, uint32_t parent);
  // The function whose DIE is at `address` in memory stands in this scope.
  void note(const void* address, uint32_t scope) { scope_of_.emplace(address, scope); }

  // The reference holds as long as this lives.
  const FunctionName& name_of(Dwarf_Die die);

 private:
  struct Scope {
    Dwarf* dwarf;
    Dwarf_Off offset;
    uint32_t parent;
    bool is_named;
    std::string text;  // with its parents
  };
  FunctionName find_name(Dwarf_Die die);
  uint32_t scope_of(const Dwarf_Die& die) const;
  const std::string& text_of(uint32_t scope);

  std::function<void(Dwarf_Die)> walk_unit_;
  std::vector<Scope> scopes_;
  std::unordered_map<const void*, uint32_t> scope_of_;
  std::unordered_map<const void*, FunctionName> names_;
};

}  // namespace heaptap::symbols
