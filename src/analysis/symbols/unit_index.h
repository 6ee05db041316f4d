// Functions of one compile unit by address, their inlined calls, and the unit's line table. The unit is walked once; a function's
// inlined calls on the first query of an address in it. Private to symbols/.
#pragma once
#include <elfutils/libdw.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/symbols/code_ranges.h"
#include "analysis/symbols/die_cursor.h"
#include "analysis/symbols/function_names.h"
#include "analysis/symbols/range_map.h"

namespace heaptap::symbols {

struct SourcePosition {
  const std::string* file = nullptr;  // valid as long as the UnitIndex
  uint32_t line = 0;
  uint32_t column = 0;
};

struct SourceFrame {
  const FunctionName* function = nullptr;  // valid as long as the FunctionNames
  SourcePosition position;
  bool inlined = false;  // into the next frame's function
};

class UnitIndex {
 public:
  // `unit_die`: of a compile unit or of a skeleton unit (whose split unit is read if libdw finds it). `names` and `code` must outlive
  // this.
  UnitIndex(Dwarf_Die unit_die, FunctionNames& names, const CodeRanges& code);

  // Appends the frames of the instruction at `address`, innermost first: one without a function if only the line table covers the
  // address, none if nothing does.
  void append_frames(uint64_t address, std::vector<SourceFrame>& frames);
  // Split file of a skeleton unit that libdw doesn't find; else empty.
  [[nodiscard]] const std::string& missing_part() const { return missing_part_; }

 private:
  static constexpr uint32_t kNoParent = 0xffffffff;
  struct Inlined {
    uint64_t die_offset;
    uint32_t parent;  // index of the call it was inlined into; smaller than its own
    uint32_t call_file;
    uint32_t call_line;
    uint32_t call_column;
  };
  struct InlineTree {
    std::vector<Inlined> nodes;
    RangeMap ranges;
  };
  struct Function {
    uint64_t die_offset;
    std::unique_ptr<InlineTree> inlines;  // built on demand
  };
  class Walk;

  void walk_unit();
  const InlineTree& inlines_of(Function& function);
  bool append_ranges(uint64_t die_offset, uint32_t depth, uint32_t value, std::vector<RangeMap::Range>& ranges);
  std::optional<Dwarf_Die> die_at(uint64_t offset);
  const FunctionName* name_at(uint64_t die_offset);
  SourcePosition position_of(uint64_t address);
  // A file's name as in the line table, prefixed with the unit's DW_AT_comp_dir if relative.
  const std::string* whole_path(const char* name);
  SourcePosition call_position(const Inlined& inlined);

  Dwarf_Die lines_die_;  // of the unit with the line table
  std::string missing_part_;
  Dwarf_Die die_;  // parent of the functions
  Dwarf* dwarf_;   // of die_
  FunctionNames& names_;
  const CodeRanges& code_;
  std::optional<UnitBytes> bytes_;
  std::vector<Function> functions_;
  RangeMap function_ranges_;
  std::unordered_map<const char*, std::string> paths_;  // by the name in the line table, owned by libdw
};

}  // namespace heaptap::symbols
