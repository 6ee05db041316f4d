// Goes through the DIEs of a unit in the order of their bytes, far faster than libdw's dwarf_child and dwarf_siblingof,
// which decode every DIE once for each of its ancestors where the producer wrote no DW_AT_sibling. Offsets only grow, so
// that no unit, however broken, keeps it longer than its bytes are. Private to symbols/.
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
  bool is_fixed = false;  // all forms are of known size: fixed_bytes in total
  uint32_t fixed_bytes = 0;
  std::vector<Form> forms;
};

// One unit: where its bytes are and how its DIEs are coded.
class UnitBytes {
 public:
  // `die` is the unit's own DIE. Nothing where the unit's bytes make no sense.
  static std::optional<UnitBytes> create(Dwarf_Die die);

  // Whether its DIEs may name some of other units.
  [[nodiscard]] bool may_name_others() const;
  // Where the DIE at this offset of the section is in memory: what Dwarf_Die::addr of it is.
  [[nodiscard]] const void* address_of(uint64_t offset) const { return bytes_.data() + (offset - unit_offset_); }

 private:
  friend class DieCursor;
  bool read_abbreviations(Dwarf_Die& die);

  std::span<const uint8_t> bytes_;  // from the unit's header to its end
  uint64_t unit_offset_ = 0;        // of the header in its section
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
  // From the unit's own DIE to its end. `unit` must outlive the cursor.
  explicit DieCursor(const UnitBytes& unit) : DieCursor(unit, unit.die_offset_) {}
  // From the DIE at this offset of the section to the end of what is below it.
  DieCursor(const UnitBytes& unit, uint64_t offset);

  // To the next DIE; false at the end, also where the bytes make no sense any more.
  bool next();
  // What is below the current DIE is not wanted. (Where it can't be skipped, it comes nevertheless.)
  void skip_children();

  [[nodiscard]] uint64_t offset() const { return offset_; }
  [[nodiscard]] const Abbreviation& abbreviation() const { return *abbreviation_; }
  // The first operation of its DW_AT_location, where that is an expression; else 0.
  [[nodiscard]] uint8_t location_operation() const { return location_operation_; }
  [[nodiscard]] uint32_t depth() const { return depth_; }  // the DIE it started from has 0

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
  uint64_t sibling_ = 0;  // position of the current DIE's sibling, 0 where it isn't known
  uint8_t location_operation_ = 0;
  uint32_t depth_ = 0;
  uint32_t open_ = 0;  // lists of children that are open behind the current DIE
  bool started_ = false;
  const Abbreviation* abbreviation_ = nullptr;
};

}  // namespace heaptap::symbols
