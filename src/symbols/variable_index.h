// The variables of a file's DWARF that have a place of their own, by address. Private to symbols/.
#pragma once
#include <elfutils/libdw.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "symbols/resolver.h"

namespace heaptap::symbols {

class VariableIndex {
 public:
  // Goes through all units once. `dwarf` must outlive this.
  // `opens_others`: as DwarfIndex has it.
  VariableIndex(Dwarf* dwarf, bool opens_others);

  // The variable around an address as DWARF has it, or around an offset in the thread-local segment.
  std::optional<Variable> find(uint64_t address, bool is_thread_local);

 private:
  struct Place {
    uint64_t begin;
    Dwarf* dwarf;  // that the DIE is in: of a split unit its own
    uint64_t die_offset;
  };
  void add_unit(Dwarf_Die unit_die);
  void add(Dwarf* dwarf, uint64_t die_offset);

  std::vector<Place> places_[2];  // of data, thread-local; by begin
};

}  // namespace heaptap::symbols
