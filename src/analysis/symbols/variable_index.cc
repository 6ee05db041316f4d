#include "analysis/symbols/variable_index.h"

#include <dwarf.h>
#include <fmt/format.h>

#include <algorithm>

#include "analysis/symbols/die_cursor.h"

namespace heaptap::symbols {
namespace {

constexpr size_t kVariableUnitLimit = 1 << 22;
constexpr size_t kPlaceLimit = 1 << 23;

// First operations of locations of variables with a fixed address.
bool begins_fixed_place(uint8_t operation) {
  switch (operation) {
    case DW_OP_addr:
    case DW_OP_addrx:
    case DW_OP_GNU_addr_index:
    case DW_OP_const4u:
    case DW_OP_const8u:
    case DW_OP_constx:
    case DW_OP_GNU_const_index:
      return true;
    default:
      return false;
  }
}

bool is_type(uint32_t tag) {
  return tag == DW_TAG_class_type || tag == DW_TAG_structure_type || tag == DW_TAG_union_type ||
         tag == DW_TAG_enumeration_type || tag == DW_TAG_subroutine_type;
}

// The operand, also where it is an index into .debug_addr.
std::optional<uint64_t> operand_of(Dwarf_Attribute& location, const Dwarf_Op& operation) {
  switch (operation.atom) {
    case DW_OP_addr:
    case DW_OP_const4u:
    case DW_OP_const8u:
      return operation.number;
    default: {
      Dwarf_Attribute indirect;
      Dwarf_Addr address = 0;
      Dwarf_Word number = 0;
      if (dwarf_getlocation_attr(&location, &operation, &indirect) != 0) return std::nullopt;
      if (dwarf_formaddr(&indirect, &address) == 0) return address;
      if (dwarf_formudata(&indirect, &number) == 0) return number;
      return std::nullopt;
    }
  }
}

const char* integrated_string_of(Dwarf_Die& die, unsigned int attribute) {
  Dwarf_Attribute value;
  return dwarf_attr_integrate(&die, attribute, &value) == nullptr ? nullptr : dwarf_formstring(&value);
}

std::string name_of(Dwarf_Die& die) {
  for (const unsigned int attribute : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name}) {
    if (const char* name = integrated_string_of(die, attribute)) return demangle(name);
  }
  const char* name = integrated_string_of(die, DW_AT_name);
  return name == nullptr ? std::string() : name;
}

std::string file_of(Dwarf_Die& die) {
  const char* name = dwarf_decl_file(&die);
  if (name == nullptr) return {};
  Dwarf_Die unit;
  Dwarf_Attribute value;
  const char* directory = nullptr;
  if (name[0] != '/' && dwarf_diecu(&die, &unit, nullptr, nullptr) != nullptr &&
      dwarf_attr(&unit, DW_AT_comp_dir, &value) != nullptr) {
    directory = dwarf_formstring(&value);
  }
  return directory != nullptr && directory[0] == '/' ? fmt::format("{}/{}", directory, name) : name;
}

// Number of an array's elements; 0: unknown.
uint64_t element_count(Dwarf_Die& array) {
  constexpr int kMaxDimensions = 16;
  Dwarf_Die child;
  if (dwarf_child(&array, &child) != 0) return 0;
  uint64_t count = 1;
  for (int i = 0; i < kMaxDimensions; ++i) {
    Dwarf_Attribute value;
    Dwarf_Word number = 0;
    if (dwarf_tag(&child) == DW_TAG_subrange_type) {
      if (dwarf_attr(&child, DW_AT_count, &value) != nullptr && dwarf_formudata(&value, &number) == 0) {
        count *= number;
      } else if (dwarf_attr(&child, DW_AT_upper_bound, &value) != nullptr && dwarf_formudata(&value, &number) == 0) {
        count *= number + 1;
      } else {
        return 0;
      }
    }
    if (dwarf_siblingof(&child, &child) != 0) break;
  }
  return count;
}

// Not dwarf_aggregate_size: it doesn't terminate for broken types that refer to themselves.
uint64_t size_of(Dwarf_Die& variable) {
  constexpr int kMaxSteps = 32;  // typedefs, qualifiers, arrays
  uint64_t count = 1;
  Dwarf_Die die = variable;
  for (int step = 0; step < kMaxSteps; ++step) {
    Dwarf_Attribute value;
    Dwarf_Die type;
    if (dwarf_attr_integrate(&die, DW_AT_type, &value) == nullptr || dwarf_formref_die(&value, &type) == nullptr) {
      return 0;
    }
    const int size = dwarf_bytesize(&type);
    if (size >= 0) return count * static_cast<uint64_t>(size);
    const int tag = dwarf_tag(&type);
    if (tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type) {
      uint8_t address_bytes = 0;  // clang leaves the size of pointers to the unit
      dwarf_cu_info(type.cu, nullptr, nullptr, nullptr, nullptr, nullptr, &address_bytes, nullptr);
      return count * address_bytes;
    }
    if (tag == DW_TAG_array_type) count *= element_count(type);
    die = type;
  }
  return 0;
}

}  // namespace

VariableIndex::VariableIndex(Dwarf* dwarf, bool opens_others) {
  Dwarf_CU* unit = nullptr;
  uint8_t unit_type = 0;
  Dwarf_Die die;
  Dwarf_Die split;
  for (size_t i = 0; i < kVariableUnitLimit; ++i) {
    die = {};
    split = {};
    if (dwarf_get_units(dwarf, unit, &unit, nullptr, &unit_type, &die, opens_others ? &split : nullptr) != 0) break;
    if (unit_type == DW_UT_skeleton && split.addr != nullptr) die = split;
    if (die.addr != nullptr && unit_type != DW_UT_type && unit_type != DW_UT_split_type) add_unit(die);
  }
  for (auto& places : places_) std::ranges::stable_sort(places, {}, &Place::begin);
}

void VariableIndex::add_unit(Dwarf_Die unit_die) {
  Dwarf* dwarf = dwarf_cu_getdwarf(unit_die.cu);
  const auto bytes = UnitBytes::create(unit_die);
  if (!bytes) return;
  for (DieCursor cursor(*bytes); cursor.next();) {
    const uint32_t tag = cursor.abbreviation().tag;
    if (is_type(tag)) cursor.skip_children();  // members declared in a class are defined outside of it
    if (tag != DW_TAG_variable || !begins_fixed_place(cursor.location_operation())) continue;
    if (places_[0].size() + places_[1].size() >= kPlaceLimit) return;
    add(dwarf, cursor.offset());
  }
}

void VariableIndex::add(Dwarf* dwarf, uint64_t die_offset) {
  Dwarf_Die die;
  Dwarf_Attribute location;
  Dwarf_Op* operations = nullptr;
  size_t count = 0;
  if (dwarf_offdie(dwarf, die_offset, &die) == nullptr || dwarf_attr(&die, DW_AT_location, &location) == nullptr ||
      dwarf_getlocation(&location, &operations, &count) != 0 || count == 0 || count > 2) {
    return;
  }
  const bool is_thread_local =
      count == 2 && (operations[1].atom == DW_OP_form_tls_address || operations[1].atom == DW_OP_GNU_push_tls_address);
  const bool is_address = count == 1 && (operations[0].atom == DW_OP_addr || operations[0].atom == DW_OP_addrx ||
                                         operations[0].atom == DW_OP_GNU_addr_index);
  if (!is_thread_local && !is_address) return;
  const auto begin = operand_of(location, operations[0]);
  // Discarded by the linker if its address is 0.
  if (begin && (is_thread_local || *begin != 0)) places_[is_thread_local].push_back({*begin, dwarf, die_offset});
}

std::optional<Variable> VariableIndex::find(uint64_t address, bool is_thread_local) {
  const std::vector<Place>& places = places_[is_thread_local];
  auto behind = std::ranges::upper_bound(places, address, {}, &Place::begin);
  if (behind == places.begin()) return std::nullopt;
  const Place& place = *--behind;
  Dwarf_Die die;
  if (dwarf_offdie(place.dwarf, place.die_offset, &die) == nullptr) return std::nullopt;
  const uint64_t size = size_of(die);
  if (address != place.begin && address - place.begin >= size) return std::nullopt;
  int line = 0;
  if (dwarf_decl_line(&die, &line) != 0 || line < 0) line = 0;
  Variable variable{.name = name_of(die),
                    .file = file_of(die),
                    .line = static_cast<uint32_t>(line),
                    .begin = place.begin,
                    .size_bytes = size};
  if (variable.name.empty()) return std::nullopt;
  return variable;
}

}  // namespace heaptap::symbols
