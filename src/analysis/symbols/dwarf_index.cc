#include "analysis/symbols/dwarf_index.h"

#include <dwarf.h>

#include <algorithm>
#include <cstring>
#include <limits>

namespace heaptap::symbols {
namespace {

constexpr size_t kUnitLimit = 1 << 22;
constexpr size_t kRangeLimit = 1 << 23;

// Of equal ranges (identical functions folded into one) the first unit is used.
uint32_t depth_of(uint32_t unit_number) { return std::numeric_limits<uint32_t>::max() - unit_number; }

}  // namespace

DwarfIndex::DwarfIndex(Dwarf* dwarf, CodeRanges code, UnpackedDebugFile* unpacked, bool opens_others)
    : dwarf_(dwarf),
      code_(std::move(code)),
      unpacked_(unpacked),
      opens_others_(opens_others),
      names_([this](Dwarf_Die die) { walk_unit_of(die); }) {
  if (unpacked_ == nullptr) {
    list_units();
  } else if (!list_ranges()) {
    unpack_all();
  }
}

// Ranges of .debug_aranges: incomplete, but available without reading the units. False: unusable.
bool DwarfIndex::list_ranges() {
  constexpr size_t kLengthBytes = 4;
  std::vector<RangeMap::Range> ranges;
  for (auto rest = unpacked_->address_ranges(); rest.size() > kLengthBytes;) {
    uint32_t length = 0;
    std::memcpy(&length, rest.data(), sizeof(length));
    if (length > rest.size() - kLengthBytes || !append_set(rest.first(kLengthBytes + length), ranges)) return false;
    rest = rest.subspan(kLengthBytes + length);
  }
  unit_ranges_ = RangeMap(std::move(ranges));
  return !unit_ranges_.empty();
}

// The ranges of one unit: length 4, version 2, offset of the unit 4, bytes of an address 1, of a segment 1, padding; then
// pairs of begin and length. Units must come in order, as they do in .debug_info.
bool DwarfIndex::append_set(std::span<const uint8_t> set, std::vector<RangeMap::Range>& ranges) {
  constexpr size_t kHeadBytes = 16;
  uint16_t version = 0;
  uint32_t offset = 0;
  if (set.size() < kHeadBytes) return false;
  std::memcpy(&version, &set[4], sizeof(version));
  std::memcpy(&offset, &set[6], sizeof(offset));
  if (version != 2 || set[10] != sizeof(uint64_t) || set[11] != 0) return false;
  if (units_.size() == kUnitLimit || (!units_.empty() && offset <= units_.back().offset)) return false;
  const auto number = static_cast<uint32_t>(units_.size());
  units_.push_back({.die = {}, .offset = offset, .index = nullptr});
  for (size_t at = kHeadBytes; at + 16 <= set.size(); at += 16) {
    uint64_t begin = 0;
    uint64_t bytes = 0;
    std::memcpy(&begin, &set[at], sizeof(begin));
    std::memcpy(&bytes, &set[at + 8], sizeof(bytes));
    const base::AddressRange inside = code_.clip({begin, begin + bytes});
    if (inside.end <= inside.begin) continue;
    if (ranges.size() >= kRangeLimit) return false;
    ranges.push_back({.begin = inside.begin, .end = inside.end, .depth = depth_of(number), .value = number});
  }
  return true;
}

// Unpacks the unit's bytes, and those of its line table. Null: all bytes are needed.
DwarfIndex::Unit* DwarfIndex::unpack(Unit& unit) {
  if (unit.die.addr != nullptr) return &unit;
  Dwarf_Off next = 0;
  size_t header_bytes = 0;
  Dwarf_Die die;
  uint8_t unit_type = 0;
  if (!unpacked_->need_unit(unit.offset) ||
      dwarf_next_unit(dwarf_, unit.offset, &next, &header_bytes, nullptr, nullptr, nullptr, nullptr, nullptr,
                      nullptr) != 0 ||
      dwarf_offdie(dwarf_, unit.offset + header_bytes, &die) == nullptr ||
      dwarf_cu_info(die.cu, nullptr, &unit_type, nullptr, nullptr, nullptr, nullptr, nullptr) != 0 ||
      unit_type != DW_UT_compile) {
    return nullptr;
  }
  const auto bytes = UnitBytes::create(die);
  if (!bytes || bytes->may_name_others()) return nullptr;
  Dwarf_Attribute value;
  Dwarf_Word lines = 0;
  if (dwarf_attr(&die, DW_AT_stmt_list, &value) != nullptr &&
      (dwarf_formudata(&value, &lines) != 0 || !unpacked_->need_lines(lines))) {
    return nullptr;
  }
  unit.die = die;
  return &unit;
}

void DwarfIndex::unpack_all() {
  unpacked_->need_all();
  unpacked_ = nullptr;
  early_units_ = std::move(units_);
  units_.clear();
  unit_ranges_ = {};
  list_units();
}

// Index of all units: .debug_aranges is missing in clang's files, and incomplete in those of LTO and assemblers.
void DwarfIndex::list_units() {
  std::vector<RangeMap::Range> ranges;
  Dwarf_CU* unit = nullptr;
  uint8_t unit_type = 0;
  Dwarf_Die die;
  while (units_.size() < kUnitLimit && dwarf_get_units(dwarf_, unit, &unit, nullptr, &unit_type, &die, nullptr) == 0) {
    const bool has_code = unit_type == DW_UT_compile || (unit_type == DW_UT_skeleton && opens_others_);
    if ((!has_code && unit_type != DW_UT_partial) || die.addr == nullptr) continue;
    units_.push_back({.die = die, .offset = dwarf_dieoffset(&die), .index = nullptr});
    const auto number = static_cast<uint32_t>(units_.size() - 1);
    if (has_code && !append_ranges(units_.back(), number, ranges)) break;
  }
  unit_ranges_ = RangeMap(std::move(ranges));
}

bool DwarfIndex::append_ranges(Unit& unit, uint32_t number, std::vector<RangeMap::Range>& ranges) {
  const uint32_t depth = depth_of(number);
  Dwarf_Addr base = 0;
  Dwarf_Addr begin = 0;
  Dwarf_Addr end = 0;
  ptrdiff_t position = 0;
  size_t count = 0;
  while ((position = dwarf_ranges(&unit.die, position, &base, &begin, &end)) > 0) {
    ++count;
    if (ranges.size() >= kRangeLimit) return false;
    const base::AddressRange inside = code_.clip({begin, end});
    if (inside.end > inside.begin) {
      ranges.push_back({.begin = inside.begin, .end = inside.end, .depth = depth, .value = number});
    }
  }
  if (count == 0) has_units_without_ranges_ = true;
  return true;
}

DwarfIndex::Unit* DwarfIndex::unit_of(uint64_t address) {
  if (unpacked_ != nullptr) {
    const auto number = unit_ranges_.find(address);
    if (Unit* unit = number ? unpack(units_[*number]) : nullptr) return unit;
    unpack_all();
  }
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
  if (unpacked_ != nullptr) return;  // units that refer to others aren't indexed then
  if (Unit* unit = unit_at(dwarf_dieoffset(&unit_die))) index_of(*unit);
}

void DwarfIndex::append_frames(uint64_t address, std::vector<SourceFrame>& frames) {
  if (Unit* unit = unit_of(address)) index_of(*unit).append_frames(address, frames);
}

std::string DwarfIndex::missing_part(uint64_t address) {
  Unit* const unit = opens_others_ ? unit_of(address) : nullptr;
  return unit != nullptr ? index_of(*unit).missing_part() : std::string();
}

}  // namespace heaptap::symbols
