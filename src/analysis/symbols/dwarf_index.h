// Compile units of a file by address. A unit is indexed on its first query. Private to symbols/.
#pragma once
#include <elfutils/libdw.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "analysis/symbols/code_ranges.h"
#include "analysis/symbols/function_names.h"
#include "analysis/symbols/range_map.h"
#include "analysis/symbols/unit_index.h"
#include "analysis/symbols/unpacked_debug_file.h"

namespace heaptap::symbols {

class DwarfIndex {
 public:
  // `dwarf` must outlive this. `code`: executable ranges, in the addresses of `dwarf`. `unpacked`: backing store of `dwarf` if its bytes
  // are inflated on demand, for queried units only. `opens_others`: skeleton units are followed into their split files (.dwo).
  DwarfIndex(Dwarf* dwarf, CodeRanges code, UnpackedDebugFile* unpacked, bool opens_others);
  DwarfIndex(const DwarfIndex&) = delete;
  DwarfIndex& operator=(const DwarfIndex&) = delete;

  [[nodiscard]] bool empty() const { return units_.empty(); }

  // Appends the frames of the instruction at `address`, innermost first; none if no unit covers it.
  void append_frames(uint64_t address, std::vector<SourceFrame>& frames);
  // The split file of the unit at `address` if it isn't found; else empty.
  std::string missing_part(uint64_t address);

 private:
  struct Unit {
    Dwarf_Die die;     // without an address: not examined so far
    Dwarf_Off offset;  // of `die`; while not all bytes are inflated, of the unit's header
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
  UnpackedDebugFile* unpacked_;  // null: all bytes are present
  bool opens_others_;
  FunctionNames names_;
  std::vector<Unit> units_;        // by offset
  std::vector<Unit> early_units_;  // from before all bytes were present
  RangeMap unit_ranges_;
  bool has_units_without_ranges_ = false;
};

}  // namespace heaptap::symbols
