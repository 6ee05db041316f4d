// The compile units of a file by address; each is indexed when an address in it is asked for. Private to symbols/.
#pragma once
#include <elfutils/libdw.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "symbols/code_ranges.h"
#include "symbols/function_names.h"
#include "symbols/range_map.h"
#include "symbols/unit_index.h"
#include "symbols/unpacked_debug_file.h"

namespace heaptap::symbols {

class DwarfIndex {
 public:
  // `dwarf` must outlive this. `code`: what can be executed, in the addresses of `dwarf`. `unpacked`: where the bytes of `dwarf`
  // are, if they aren't all there; then only those of the units that are asked for are made.
  // `opens_others`: units whose rest is in another file (.dwo) lead there.
  DwarfIndex(Dwarf* dwarf, CodeRanges code, UnpackedDebugFile* unpacked, bool opens_others);
  DwarfIndex(const DwarfIndex&) = delete;
  DwarfIndex& operator=(const DwarfIndex&) = delete;

  [[nodiscard]] bool empty() const { return units_.empty(); }

  // Appends the frames of the instruction at `address`, innermost first; none where no unit knows it.
  void append_frames(uint64_t address, std::vector<SourceFrame>& frames);
  // The file with the rest of the unit at `address`, which isn't found; empty: there is none.
  std::string missing_part(uint64_t address);

 private:
  struct Unit {
    Dwarf_Die die;     // without an address: not looked at so far
    Dwarf_Off offset;  // of `die`; where not all bytes are there, of the unit's header
    std::unique_ptr<UnitIndex> index;
  };
  bool list_ranges();
  bool append_set(std::span<const uint8_t> set, std::vector<RangeMap::Range>& ranges);
  Unit* unpack(Unit& unit);
  void unpack_all();
  void list_units();
  bool append_ranges(Unit& unit, uint32_t number, std::vector<RangeMap::Range>& ranges);
  Unit* unit_of(uint64_t address);
  Unit* unit_at(Dwarf_Off offset);
  UnitIndex& index_of(Unit& unit);
  void walk_unit_of(Dwarf_Die die);

  Dwarf* dwarf_;
  CodeRanges code_;
  UnpackedDebugFile* unpacked_;  // null: all bytes are there
  bool opens_others_;
  FunctionNames names_;
  std::vector<Unit> units_;        // by offset
  std::vector<Unit> early_units_;  // from before all bytes were there
  RangeMap unit_ranges_;
  bool has_units_without_ranges_ = false;
};

}  // namespace heaptap::symbols
