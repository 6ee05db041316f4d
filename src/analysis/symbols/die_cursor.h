// Linear cursor over a unit's DIEs, in the order of their bytes. Far faster than libdw's dwarf_child and dwarf_siblingof, which
// decode each DIE once per ancestor where the producer wrote no DW_AT_sibling. Offsets only grow, so that a unit, however broken, costs
// time linear in its bytes. Private to symbols/.
#pragma once
#include <elfutils/libdw.h>

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace heaptap::symbols {

struct Abbreviation {
  struct Form {
    uint32_t attribute;
    uint32_t form;
  };
  uint32_t tag = 0;
  bool has_children = false;
  bool has_code = false;  // DW_AT_low_pc or DW_AT_ranges
  bool has_name = false;
  bool has_linkage_name = false;
  bool has_sibling = false;
  bool is_fixed = false;  // all forms have a known size: fixed_bytes in total
  uint32_t fixed_bytes = 0;
  std::vector<Form> forms;
};

// One unit: its bytes, and the abbreviations that encode its DIEs.
class UnitBytes {
 public:
  // `die` is the unit's own DIE. None if the unit's bytes are invalid.
  static std::optional<UnitBytes> create(Dwarf_Die die);

  // Whether its DIEs may refer to DIEs of other units.
  [[nodiscard]] bool may_name_others() const;
  // Memory address of the DIE at this section offset: its Dwarf_Die::addr.
  [[nodiscard]] const void* address_of(uint64_t offset) const { return bytes_.data() + (offset - unit_offset_); }

 private:
  friend class DieCursor;
  bool read_abbreviations(Dwarf_Die& die);

  std::span<const uint8_t> bytes_;  // the whole unit, header included
  uint64_t unit_offset_ = 0;        // of the unit's header in its section
  uint64_t die_offset_ = 0;
  uint32_t address_bytes_ = 8;
  uint32_t offset_bytes_ = 4;
  uint32_t version_ = 0;
  bool swapped_ = false;  // the file has the other byte order
  std::vector<Abbreviation> abbreviations_;
  std::vector<uint32_t> by_code_;                       // small codes: index + 1
  std::unordered_map<uint32_t, uint32_t> by_big_code_;  // the others
};

class DieCursor {
 public:
  // Covers the unit from its own DIE to its end. `unit` must outlive the cursor.
  explicit DieCursor(const UnitBytes& unit) : DieCursor(unit, unit.die_offset_) {}
  // Covers the DIE at this section offset and its descendants.
  DieCursor(const UnitBytes& unit, uint64_t offset);

  // Moves to the next DIE; false at the end or where the bytes are invalid.
  bool next();
  // Skips the current DIE's children. (Where they can't be skipped, next() visits them nevertheless.)
  void skip_children();

  [[nodiscard]] uint64_t offset() const { return offset_; }
  [[nodiscard]] const Abbreviation& abbreviation() const { return *abbreviation_; }
  // First operation of its DW_AT_location if that is an expression; else 0.
  [[nodiscard]] uint8_t location_operation() const { return location_operation_; }
  [[nodiscard]] uint32_t depth() const { return depth_; }  // 0: the DIE at which the cursor started

 private:
  bool skip_attributes();
  bool skip_form(uint32_t form);
  bool skip_bytes(uint64_t count);
  bool skip_string();
  bool skip_block(uint32_t length_bytes);
  bool read_sibling(uint32_t form);
  bool read_location(uint32_t form);
  std::optional<uint64_t> read_unsigned(uint32_t byte_count);
  std::optional<uint64_t> read_leb128();
  [[nodiscard]] const Abbreviation* abbreviation_of(uint64_t code) const;

  const UnitBytes& unit_;
  uint64_t position_ = 0;  // in unit_.bytes_
  uint64_t offset_ = 0;
  uint64_t sibling_ = 0;  // position of the current DIE's sibling; 0: unknown
  uint8_t location_operation_ = 0;
  uint32_t depth_ = 0;
  uint32_t open_ = 0;  // lists of children open after the current DIE
  bool started_ = false;
  const Abbreviation* abbreviation_ = nullptr;
};

}  // namespace heaptap::symbols
