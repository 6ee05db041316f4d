// Variables with static storage from a file's DWARF, by address. Private to symbols/.
#pragma once
#include <elfutils/libdw.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/symbols/resolver.h"

namespace heaptap::symbols {

class VariableIndex {
 public:
  // Walks all units once. `dwarf` must outlive this. `opens_others`: see DwarfIndex.
  VariableIndex(Dwarf* dwarf, bool opens_others);

  // Variable at an address in DWARF's terms, or at an offset in the thread-local segment.
  std::optional<Variable> find(uint64_t address, bool is_thread_local);

 private:
  struct Place {
    uint64_t begin;
    Dwarf* dwarf;  // of the DIE; in a split unit its own
    uint64_t die_offset;
  };
  void add_unit(Dwarf_Die unit_die);
  void add(Dwarf* dwarf, uint64_t die_offset);

  std::vector<Place> places_[2];  // of data, thread-local; by begin
};

}  // namespace heaptap::symbols
