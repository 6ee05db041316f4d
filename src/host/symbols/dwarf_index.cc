#include "host/symbols/dwarf_index.h"

#include <dwarf.h>

#include <algorithm>
#include <limits>

namespace heaptap::symbols {
namespace {

constexpr size_t kUnitLimit = 1 << 22;
constexpr size_t kRangeLimit = 1 << 23;

}  // namespace

DwarfIndex::DwarfIndex(Dwarf* dwarf, CodeRanges code)
    : dwarf_(dwarf), code_(std::move(code)), names_([this](Dwarf_Die die) { walk_unit_of(die); }) {
  list_units();
}

// An own index of the units: .debug_aranges is missing in what clang writes, and incomplete in what LTO and assemblers do.
void DwarfIndex::list_units() {
  std::vector<RangeMap::Range> ranges;
  Dwarf_CU* unit = nullptr;
  uint8_t unit_type = 0;
  Dwarf_Die die;
  while (units_.size() < kUnitLimit && dwarf_get_units(dwarf_, unit, &unit, nullptr, &unit_type, &die, nullptr) == 0) {
    const bool has_code = unit_type == DW_UT_compile || unit_type == DW_UT_skeleton;
    if ((!has_code && unit_type != DW_UT_partial) || die.addr == nullptr) continue;
    units_.push_back({.die = die, .offset = dwarf_dieoffset(&die), .index = nullptr});
    const auto number = static_cast<uint32_t>(units_.size() - 1);
    if (has_code && !append_ranges(units_.back(), number, ranges)) break;
  }
  unit_ranges_ = RangeMap(std::move(ranges));
}

bool DwarfIndex::append_ranges(Unit& unit, uint32_t number, std::vector<RangeMap::Range>& ranges) {
  // Of equal ranges (identical functions folded into one) the first unit's wins.
  const uint32_t depth = std::numeric_limits<uint32_t>::max() - number;
  Dwarf_Addr base = 0;
  Dwarf_Addr begin = 0;
  Dwarf_Addr end = 0;
  ptrdiff_t position = 0;
  size_t count = 0;
  while ((position = dwarf_ranges(&unit.die, position, &base, &begin, &end)) > 0) {
    ++count;
    if (ranges.size() >= kRangeLimit) return false;
    const AddressRange inside = code_.clip({begin, end});
    if (inside.end > inside.begin) {
      ranges.push_back({.begin = inside.begin, .end = inside.end, .depth = depth, .value = number});
    }
  }
  if (count == 0) has_units_without_ranges_ = true;
  return true;
}

DwarfIndex::Unit* DwarfIndex::unit_of(uint64_t address) {
  if (const auto number = unit_ranges_.find(address)) return &units_[*number];
  if (!has_units_without_ranges_) return nullptr;
  Dwarf_Die die;
  if (dwarf_addrdie(dwarf_, address, &die) == nullptr) return nullptr;
  return unit_at(dwarf_dieoffset(&die));
}

DwarfIndex::Unit* DwarfIndex::unit_at(Dwarf_Off offset) {
  auto place = std::lower_bound(units_.begin(), units_.end(), offset,
                                [](const Unit& unit, Dwarf_Off wanted) { return unit.offset < wanted; });
  return place != units_.end() && place->offset == offset ? &*place : nullptr;
}

UnitIndex& DwarfIndex::index_of(Unit& unit) {
  if (unit.index == nullptr) unit.index = std::make_unique<UnitIndex>(unit.die, names_, code_);
  return *unit.index;
}

void DwarfIndex::walk_unit_of(Dwarf_Die die) {
  Dwarf_Die unit_die;
  if (dwarf_cu_getdwarf(die.cu) != dwarf_ || dwarf_diecu(&die, &unit_die, nullptr, nullptr) == nullptr) return;
  if (Unit* unit = unit_at(dwarf_dieoffset(&unit_die))) index_of(*unit);
}

void DwarfIndex::append_frames(uint64_t address, std::vector<SourceFrame>& frames) {
  if (Unit* unit = unit_of(address)) index_of(*unit).append_frames(address, frames);
}

}  // namespace heaptap::symbols
