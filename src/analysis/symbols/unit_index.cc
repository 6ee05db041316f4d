#include "analysis/symbols/unit_index.h"

#include <dwarf.h>
#include <fmt/format.h>

#include <limits>

namespace heaptap::symbols {
namespace {

constexpr size_t kFunctionRangeLimit = 1 << 22;  // of one unit's functions, or of what is inlined into one function

bool can_hold_functions(uint32_t tag) {
  switch (tag) {
    case DW_TAG_compile_unit:
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_interface_type:
    case DW_TAG_subprogram:
    case DW_TAG_entry_point:
    case DW_TAG_inlined_subroutine:
    case DW_TAG_lexical_block:
    case DW_TAG_with_stmt:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
      return true;
    default:
      return false;
  }
}

bool is_scope(uint32_t tag) {
  switch (tag) {
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_interface_type:
      return true;
    default:
      return false;
  }
}

uint32_t unsigned_of(Dwarf_Die& die, unsigned int attribute) {
  Dwarf_Attribute value;
  Dwarf_Word number = 0;
  if (dwarf_attr(&die, attribute, &value) == nullptr || dwarf_formudata(&value, &number) != 0) return 0;
  return number > std::numeric_limits<uint32_t>::max() ? 0 : static_cast<uint32_t>(number);
}

// The linkage name.
std::string part_of(Dwarf_Die& skeleton) {
  for (const unsigned int attribute : {DW_AT_dwo_name, DW_AT_GNU_dwo_name}) {
    Dwarf_Attribute value;
    const char* const name = dwarf_attr(&skeleton, attribute, &value) != nullptr ? dwarf_formstring(&value) : nullptr;
    if (name != nullptr) return name;
  }
  return "a .dwo file";
}

}  // namespace

// Enclosing namespaces and classes of the cursor's DIE.
class UnitIndex::Walk {
 public:
  Walk(FunctionNames& names, Dwarf* dwarf) : names_(names), dwarf_(dwarf) {}

  void enter(const DieCursor& cursor) {
    while (!around_.empty() && around_.back().depth >= cursor.depth()) around_.pop_back();
  }
  void open_scope(const DieCursor& cursor) {
    around_.push_back({.depth = cursor.depth(), .offset = cursor.offset(), .number = FunctionNames::kNoScope});
  }
  // The number of the innermost scope, assigned on demand: most scopes have no function that needs it.
  uint32_t scope() {
    uint32_t parent = FunctionNames::kNoScope;
    for (Around& each : around_) {
      if (each.number == FunctionNames::kNoScope) each.number = names_.add_scope(dwarf_, each.offset, parent);
      parent = each.number;
    }
    return parent;
  }

 private:
  struct Around {
    uint32_t depth;
    uint64_t offset;
    uint32_t number;
  };
  FunctionNames& names_;
  Dwarf* dwarf_;
  std::vector<Around> around_;
};

UnitIndex::UnitIndex(Dwarf_Die unit_die, FunctionNames& names, const CodeRanges& code)
    : lines_die_(unit_die), die_(unit_die), dwarf_(nullptr), names_(names), code_(code) {
  Dwarf_Die split{};
  uint8_t unit_type = 0;
  if (dwarf_cu_info(unit_die.cu, nullptr, &unit_type, nullptr, &split, nullptr, nullptr, nullptr) == 0 &&
      unit_type == DW_UT_skeleton) {
    if (split.addr != nullptr) {
      die_ = split;
    } else {
      missing_part_ = part_of(unit_die);
    }
  }
  dwarf_ = dwarf_cu_getdwarf(die_.cu);
  bytes_ = UnitBytes::create(die_);
  if (bytes_) walk_unit();
}

void UnitIndex::walk_unit() {
  std::vector<RangeMap::Range> ranges;
  Walk walk(names_, dwarf_);
  for (DieCursor cursor(*bytes_); cursor.next();) {
    const Abbreviation& shape = cursor.abbreviation();
    walk.enter(cursor);
    if (shape.tag == DW_TAG_subprogram) {
      if (shape.has_name && !shape.has_linkage_name) {
        const uint32_t scope = walk.scope();
        if (scope != FunctionNames::kNoScope) names_.note(bytes_->address_of(cursor.offset()), scope);
      }
      if (shape.has_code) {
        const auto index = static_cast<uint32_t>(functions_.size());
        if (!append_ranges(cursor.offset(), cursor.depth(), index, ranges)) break;
        functions_.push_back({.die_offset = cursor.offset(), .inlines = nullptr});
      }
    } else if (is_scope(shape.tag)) {
      if (shape.has_children) walk.open_scope(cursor);
    } else if (!can_hold_functions(shape.tag)) {
      cursor.skip_children();
    }
  }
  function_ranges_ = RangeMap(std::move(ranges));
}

// Adds the ranges of a DIE that are in code; false if there are too many in total.
bool UnitIndex::append_ranges(uint64_t die_offset, uint32_t depth, uint32_t value,
                              std::vector<RangeMap::Range>& ranges) {
  auto die = die_at(die_offset);
  if (!die) return true;
  Dwarf_Addr base = 0;
  Dwarf_Addr begin = 0;
  Dwarf_Addr end = 0;
  ptrdiff_t position = 0;
  while ((position = dwarf_ranges(&*die, position, &base, &begin, &end)) > 0) {
    if (ranges.size() >= kFunctionRangeLimit) return false;
    const base::AddressRange inside = code_.clip({begin, end});
    if (inside.end > inside.begin) {
      ranges.push_back({.begin = inside.begin, .end = inside.end, .depth = depth, .value = value});
    }
  }
  return true;
}

const UnitIndex::InlineTree& UnitIndex::inlines_of(Function& function) {
  if (function.inlines != nullptr) return *function.inlines;
  function.inlines = std::make_unique<InlineTree>();
  InlineTree& tree = *function.inlines;
  std::vector<RangeMap::Range> ranges;
  struct Open {
    uint32_t depth;
    uint32_t node;
  };
  std::vector<Open> open;
  uint32_t other_function_depth = 0;  // below it everything belongs to another function; 0: nowhere
  for (DieCursor cursor(*bytes_, function.die_offset); cursor.next();) {
    const uint32_t depth = cursor.depth();
    const uint32_t tag = cursor.abbreviation().tag;
    if (other_function_depth != 0 && depth > other_function_depth) continue;
    other_function_depth = 0;
    while (!open.empty() && open.back().depth >= depth) open.pop_back();
    if (tag == DW_TAG_subprogram && depth > 0) {
      other_function_depth = depth;
      cursor.skip_children();
    } else if (tag == DW_TAG_inlined_subroutine && cursor.abbreviation().has_code) {
      const auto index = static_cast<uint32_t>(tree.nodes.size());
      if (!append_ranges(cursor.offset(), depth, index, ranges)) break;
      auto die = die_at(cursor.offset());
      tree.nodes.push_back({.die_offset = cursor.offset(),
                            .parent = open.empty() ? kNoParent : open.back().node,
                            .call_file = die ? unsigned_of(*die, DW_AT_call_file) : 0,
                            .call_line = die ? unsigned_of(*die, DW_AT_call_line) : 0,
                            .call_column = die ? unsigned_of(*die, DW_AT_call_column) : 0});
      open.push_back({.depth = depth, .node = index});
    } else if (!can_hold_functions(tag)) {
      cursor.skip_children();
    }
  }
  tree.ranges = RangeMap(std::move(ranges));
  return tree;
}

void UnitIndex::append_frames(uint64_t address, std::vector<SourceFrame>& frames) {
  SourcePosition position = position_of(address);
  const auto found = function_ranges_.find(address);
  if (!found) {
    if (position.file != nullptr) frames.push_back({.function = nullptr, .position = position, .inlined = false});
    return;
  }
  Function& function = functions_[*found];
  const InlineTree& tree = inlines_of(function);
  for (uint32_t index = tree.ranges.find(address).value_or(kNoParent); index != kNoParent;) {
    const Inlined& inlined = tree.nodes[index];
    frames.push_back({.function = name_at(inlined.die_offset), .position = position, .inlined = true});
    position = call_position(inlined);
    index = inlined.parent;
  }
  frames.push_back({.function = name_at(function.die_offset), .position = position, .inlined = false});
}

std::optional<Dwarf_Die> UnitIndex::die_at(uint64_t offset) {
  Dwarf_Die die;
  if (dwarf_offdie(dwarf_, offset, &die) == nullptr) return std::nullopt;
  return die;
}

const FunctionName* UnitIndex::name_at(uint64_t die_offset) {
  auto die = die_at(die_offset);
  return die ? &names_.name_of(*die) : nullptr;
}

SourcePosition UnitIndex::position_of(uint64_t address) {
  Dwarf_Line* line = dwarf_getsrc_die(&lines_die_, address);
  if (line == nullptr) return {};
  int number = 0;
  if (dwarf_lineno(line, &number) != 0 || number < 0) number = 0;
  int column = 0;
  if (number == 0 || dwarf_linecol(line, &column) != 0 || column < 0) column = 0;
  return {.file = whole_path(dwarf_linesrc(line, nullptr, nullptr)),
          .line = static_cast<uint32_t>(number),
          .column = static_cast<uint32_t>(column)};
}

const std::string* UnitIndex::whole_path(const char* name) {
  if (name == nullptr) return nullptr;
  auto [place, is_new] = paths_.try_emplace(name);
  if (!is_new) return &place->second;
  Dwarf_Attribute value;
  const char* directory = nullptr;
  if (name[0] != '/' && dwarf_attr(&lines_die_, DW_AT_comp_dir, &value) != nullptr)
    directory = dwarf_formstring(&value);
  place->second = directory != nullptr && directory[0] == '/' ? fmt::format("{}/{}", directory, name) : name;
  return &place->second;
}

SourcePosition UnitIndex::call_position(const Inlined& inlined) {
  Dwarf_Files* files = nullptr;
  size_t file_count = 0;
  if (dwarf_getsrcfiles(&die_, &files, &file_count) != 0 || inlined.call_file >= file_count) {
    return {.file = nullptr, .line = inlined.call_line, .column = inlined.call_column};
  }
  return {.file = whole_path(dwarf_filesrc(files, inlined.call_file, nullptr, nullptr)),
          .line = inlined.call_line,
          .column = inlined.call_column};
}

}  // namespace heaptap::symbols
