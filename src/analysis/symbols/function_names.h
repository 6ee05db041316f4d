// Names of functions from DWARF: the linkage name if there is one, else the plain name qualified by its namespaces and classes, as
// far as the unit's walk has reported them. Private to symbols/.
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
  std::string text;          // demangled
  std::string linkage;       // linkage name; empty: none
  std::string plain;         // DW_AT_name without template arguments; empty if there is a linkage name
  bool is_complete = false;  // from a linkage name, so with parameter types
};

class FunctionNames {
 public:
  static constexpr uint32_t kNoScope = std::numeric_limits<uint32_t>::max();

  // `walk_unit` is called with a DIE of unknown scope, to note() the scopes of its unit if not done yet.
  explicit FunctionNames(std::function<void(Dwarf_Die)> walk_unit) : walk_unit_(std::move(walk_unit)) {}

  // Adds a namespace or class inside `parent`. Returns its number for note().
  uint32_t add_scope(Dwarf* dwarf, Dwarf_Off offset, uint32_t parent);
  // Records the scope of the function whose DIE is at `address` in memory.
  void note(const void* address, uint32_t scope) { scope_of_.emplace(address, scope); }

  // The reference is valid as long as this object.
  const FunctionName& name_of(Dwarf_Die die);

 private:
  struct Scope {
    Dwarf* dwarf;
    Dwarf_Off offset;
    uint32_t parent;
    bool is_named;
    std::string text;  // qualified
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
