// Row maker from call frame information: .eh_frame, searched through .eh_frame_hdr or a caller's index (fde_scan.h), and
// .debug_frame. Sources: DWARF 5, 6.4; LSB Core, 10.6. Freestanding; reads the tables where they are mapped here: the agent uses the
// target's own, the tracer a copy. `Cpu` is an arch's Unwinding. Uses about 400 bytes of stack, allocates nothing, trusts no byte.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "common/unwind/byte_reader.h"
#include "common/unwind/cpu_facts.h"
#include "common/unwind/row.h"

namespace heaptap::unwind {

// Location of a module's tables: target addresses, and where these bytes are mapped here.
struct CfiTables {
  uint64_t start = 0;  // target address of the readable range that holds the tables
  uint64_t end = 0;
  const uint8_t* mapped = nullptr;  // of `start`
  uint64_t header = 0;              // .eh_frame_hdr, or .ARM.exidx, target address; 0: none
  uint64_t header_bytes = 0;        // of .ARM.exidx
  bool is_swapped = false;          // the target has the other byte order; then there is no header

  [[nodiscard]] ByteReader reader_at(uint64_t address) const {
    if (address < start || address >= end) return ByteReader(mapped, 0, 0);
    return ByteReader(mapped + (address - start), address, end, is_swapped);
  }
};

namespace cfi {

struct Cie {
  uint64_t code_alignment = 1;
  int64_t data_alignment = 1;
  uint64_t return_register = 0;
  uint8_t pointer_encoding = kPointerAbsolute;
  bool has_augmentation_data = false;
  bool is_signal = false;
  uint64_t instructions = 0;  // target address
  uint64_t instructions_end = 0;
};

// Differences between the two sections: the mark of a CIE, and an FDE's reference to its CIE.
struct EhFrame {
  static constexpr uint32_t kCieId = 0;
  // `id_address`: address of an entry's second word, `id` its value.
  static uint64_t cie_of(const CfiTables& /*tables*/, uint64_t id_address, uint32_t id) { return id_address - id; }
};
// .debug_frame: its addresses are the file's link-time addresses, so tables and pc are relative to these too.
struct DebugFrame {
  static constexpr uint32_t kCieId = 0xffffffff;
  static uint64_t cie_of(const CfiTables& tables, uint64_t /*id_address*/, uint32_t id) { return tables.start + id; }
};

// The range of one entry (CIE or FDE) behind its length; `id_address` gets the address of its CIE pointer or id.
inline bool enter_entry(ByteReader& reader, uint64_t& entry_end) {
  uint64_t length = reader.fixed<uint32_t>();
  if (length == 0xffffffff) length = reader.fixed<uint64_t>();
  if (!reader.ok() || length == 0 || length > reader.left()) return false;
  reader.limit(length);
  entry_end = reader.address() + length;
  return true;
}

template <typename Cpu, typename Form>
bool parse_cie(const CfiTables& tables, uint64_t address, Cie& cie) {
  ByteReader reader = tables.reader_at(address);
  if (!enter_entry(reader, cie.instructions_end) || reader.fixed<uint32_t>() != Form::kCieId) return false;
  const uint8_t version = reader.u8();
  if (version != 1 && version != 3 && version != 4) return false;
  char augmentation[8] = {};
  size_t count = 0;
  for (uint8_t letter = reader.u8(); letter != 0; letter = reader.u8()) {
    if (count + 1 >= sizeof(augmentation)) return false;
    augmentation[count++] = static_cast<char>(letter);
  }
  if (version == 4) reader.skip(2);  // address size, segment size
  cie.code_alignment = reader.uleb();
  cie.data_alignment = reader.sleb();
  cie.return_register = version == 1 ? reader.u8() : reader.uleb();
  if (augmentation[0] == 'z') {
    cie.has_augmentation_data = true;
    const uint64_t bytes = reader.uleb();
    const uint64_t behind = reader.address() + bytes;
    for (size_t i = 1; i < count; ++i) {
      switch (augmentation[i]) {
        case 'R':
          cie.pointer_encoding = reader.u8();
          break;
        case 'L':
          reader.u8();
          break;
        case 'P': {
          const uint8_t encoding = reader.u8();
          reader.pointer(encoding & 0x7f, 0, sizeof(typename Cpu::Word));
          break;
        }
        case 'S':
          cie.is_signal = true;
          break;
        case 'B':  // the key that signs return addresses
        case 'G':  // tagged frames
          break;
        default:
          return false;
      }
    }
    if (behind < reader.address()) return false;
    reader.skip(behind - reader.address());
  } else if (count != 0) {
    return false;
  }
  cie.instructions = reader.address();
  return reader.ok();
}

// Finds the FDE that the search table names for pc. 0: none.
template <typename Cpu>
uint64_t find_fde(const CfiTables& tables, uint64_t pc) {
  ByteReader reader = tables.reader_at(tables.header);
  const uint8_t version = reader.u8();
  const uint8_t frame_encoding = reader.u8();
  const uint8_t count_encoding = reader.u8();
  const uint8_t table_encoding = reader.u8();
  if (!reader.ok() || version != 1 || frame_encoding == kPointerOmitted) return 0;
  reader.pointer(frame_encoding, tables.header, sizeof(typename Cpu::Word));
  // Linkers write this one form of the sorted table; anything else counts as no table.
  if (count_encoding != kPointerU4 || table_encoding != (kPointerDataRelative | kPointerS4)) return 0;
  const uint64_t count = reader.fixed<uint32_t>();
  if (!reader.ok() || count == 0 || count * 8 > reader.left()) return 0;
  const uint8_t* table = reader.here();
  const auto entry = [&](uint64_t index, uint64_t half) {
    int32_t offset;
    __builtin_memcpy(&offset, table + index * 8 + half * 4, 4);
    return tables.header + static_cast<uint64_t>(static_cast<int64_t>(offset));
  };
  if (pc < entry(0, 0)) return 0;
  uint64_t low = 0;
  uint64_t high = count;
  while (high - low > 1) {
    const uint64_t middle = low + (high - low) / 2;
    (entry(middle, 0) <= pc ? low : high) = middle;
  }
  return entry(low, 1);
}

enum class Rule : uint8_t { kSame, kUndefined, kOffset, kFrameRelative, kOther };
struct RegisterRule {
  Rule rule = Rule::kSame;
  int32_t offset = 0;
};
enum class CfaRule : uint8_t { kNone, kStack, kFrame, kFrameIndirect, kOther };

struct State {
  CfaRule cfa = CfaRule::kNone;
  int32_t cfa_offset = 0;
  RegisterRule return_address;
  RegisterRule frame_pointer;
};

// Runs a CFA program up to `pc`, keeping only what a Row holds: the CFA, the return address and the frame pointer.
template <typename Cpu>
class Program {
 public:
  Program(const Cie& cie, State& state) : cie_(cie), state_(state) {}

  // `location` is the address that the program starts at. False: it can't be followed.
  bool run(ByteReader& reader, uint64_t location, uint64_t pc, const State* initial) {
    return run(reader, location, pc, initial, [](uint64_t, uint64_t) {});
  }

  // passed(begin, end): the current state holds up to `end`.
  template <typename Passed>
  bool run(ByteReader& reader, uint64_t location, uint64_t pc, const State* initial, const Passed& passed) {
    while (!reader.at_end()) {
      const uint8_t opcode = reader.u8();
      const uint8_t low = opcode & 0x3f;
      switch (opcode & 0xc0) {
        case 0x40: {  // advance_loc
          const uint64_t from = location;
          location += low * cie_.code_alignment;
          passed(from, location);
          if (location > pc) return reader.ok();
          continue;
        }
        case 0x80:  // offset
          set(low, by_data(static_cast<int64_t>(reader.uleb())));
          continue;
        case 0xc0:  // restore
          restore(low, initial);
          continue;
        default:
          break;
      }
      if (is_advance(opcode)) {
        const uint64_t from = location;
        location = advance(reader, opcode, location);
        passed(from, location);
        if (location > pc) return reader.ok();
      } else if (!execute(reader, opcode, initial)) {
        return false;
      }
    }
    return reader.ok();
  }

 private:
  static bool is_advance(uint8_t opcode) { return opcode >= 0x01 && opcode <= 0x04; }

  uint64_t advance(ByteReader& reader, uint8_t opcode, uint64_t location) {
    switch (opcode) {
      case 0x01:
        return reader.pointer(cie_.pointer_encoding, 0, sizeof(typename Cpu::Word));
      case 0x02:
        return location + reader.u8() * cie_.code_alignment;
      case 0x03:
        return location + reader.fixed<uint16_t>() * cie_.code_alignment;
      default:
        return location + reader.fixed<uint32_t>() * cie_.code_alignment;
    }
  }

  bool execute(ByteReader& reader, uint8_t opcode, const State* initial) {
    switch (opcode) {
      case 0x00:
        return true;  // nop
      case 0x05: {    // offset_extended
        const uint64_t number = reader.uleb();
        set(number, by_data(static_cast<int64_t>(reader.uleb())));
        return true;
      }
      case 0x06:
        restore(reader.uleb(), initial);
        return true;
      case 0x07:
        set(reader.uleb(), {Rule::kUndefined, 0});
        return true;
      case 0x08:
        set(reader.uleb(), {Rule::kSame, 0});
        return true;
      case 0x09:  // register
        set(reader.uleb(), {Rule::kOther, 0});
        reader.uleb();
        return true;
      case 0x0a:  // remember_state
        if (depth_ == kMaximumDepth) return false;
        remembered_[depth_++] = state_;
        return true;
      case 0x0b:  // restore_state
        if (depth_ == 0) return false;
        state_ = remembered_[--depth_];
        return true;
      case 0x0c: {  // def_cfa
        const uint64_t number = reader.uleb();
        define_cfa(number, static_cast<int64_t>(reader.uleb()));
        return true;
      }
      case 0x0d:
        define_cfa(reader.uleb(), state_.cfa_offset);
        return true;
      case 0x0e:
        set_cfa_offset(static_cast<int64_t>(reader.uleb()));
        return true;
      case 0x0f:
        cfa_expression(reader);
        return true;
      case 0x10:
        register_expression(reader);
        return true;
      case 0x11: {  // offset_extended_sf
        const uint64_t number = reader.uleb();
        set(number, by_data(reader.sleb()));
        return true;
      }
      case 0x12: {  // def_cfa_sf
        const uint64_t number = reader.uleb();
        define_cfa(number, scaled(reader.sleb()));
        return true;
      }
      case 0x13:
        set_cfa_offset(scaled(reader.sleb()));
        return true;
      case 0x14:  // val_offset
        set(reader.uleb(), {Rule::kOther, 0});
        reader.uleb();
        return true;
      case 0x15:  // val_offset_sf
        set(reader.uleb(), {Rule::kOther, 0});
        reader.sleb();
        return true;
      case 0x16:  // val_expression
        set(reader.uleb(), {Rule::kOther, 0});
        reader.skip(reader.uleb());
        return true;
      case 0x2d:  // signed addresses needn't be known, see Row
        return Cpu::kSignsReturnAddresses;
      case 0x2e:
        reader.uleb();
        return true;  // GNU_args_size
      default:
        return false;
    }
  }

  void define_cfa(uint64_t number, int64_t offset) {
    state_.cfa = number == Cpu::kStackPointer   ? CfaRule::kStack
                 : number == Cpu::kFramePointer ? CfaRule::kFrame
                                                : CfaRule::kOther;
    set_cfa_offset(offset);
  }

  void set_cfa_offset(int64_t offset) {
    state_.cfa_offset = static_cast<int32_t>(offset);
    if (state_.cfa_offset != offset) state_.cfa = CfaRule::kOther;
  }

  // A factored offset; one that overflows gives a value that no row can hold.
  [[nodiscard]] int64_t scaled(int64_t factored) const {
    int64_t offset = 0;
    return __builtin_mul_overflow(factored, cie_.data_alignment, &offset) ? INT64_MAX : offset;
  }

  // Saved at CFA + factored * data_alignment.
  [[nodiscard]] RegisterRule by_data(int64_t factored) const {
    const int64_t offset = scaled(factored);
    if (static_cast<int32_t>(offset) != offset) return {Rule::kOther, 0};
    return {Rule::kOffset, static_cast<int32_t>(offset)};
  }

  // The only CFA expression that compilers emit outside of PLTs: *(FP + k), in functions that realign the stack.
  void cfa_expression(ByteReader& reader) {
    const uint64_t bytes = reader.uleb();
    const uint64_t behind = reader.address() + bytes;
    const bool starts_with_fp = reader.u8() == 0x70 + Cpu::kFramePointer;  // breg
    const int64_t offset = starts_with_fp ? reader.sleb() : 0;
    const bool indirect = starts_with_fp && reader.address() + 1 == behind && reader.u8() == 0x06;  // deref
    state_.cfa = indirect ? CfaRule::kFrameIndirect : CfaRule::kOther;
    set_cfa_offset(offset);
    if (behind >= reader.address()) reader.skip(behind - reader.address());
  }

  // FP saved at FP + k, the companion of the expression above.
  void register_expression(ByteReader& reader) {
    const uint64_t number = reader.uleb();
    const uint64_t bytes = reader.uleb();
    const uint64_t behind = reader.address() + bytes;
    RegisterRule rule{Rule::kOther, 0};
    if (bytes > 0 && reader.u8() == 0x70 + Cpu::kFramePointer) {
      const int64_t offset = reader.sleb();
      if (reader.address() == behind && offset == static_cast<int32_t>(offset)) {
        rule = {Rule::kFrameRelative, static_cast<int32_t>(offset)};
      }
    }
    set(number, rule);
    if (behind >= reader.address()) reader.skip(behind - reader.address());
  }

  void set(uint64_t number, RegisterRule rule) {
    if (number == cie_.return_register) state_.return_address = rule;
    if (number == Cpu::kFramePointer) state_.frame_pointer = rule;
  }

  void restore(uint64_t number, const State* initial) {
    static constexpr RegisterRule kDefault{};
    if (number == cie_.return_register) state_.return_address = initial ? initial->return_address : kDefault;
    if (number == Cpu::kFramePointer) state_.frame_pointer = initial ? initial->frame_pointer : kDefault;
  }

  static constexpr unsigned kMaximumDepth = 4;
  const Cie& cie_;
  State& state_;
  State remembered_[kMaximumDepth];
  unsigned depth_ = 0;
};

// Kind of a row whose registers are saved relative to the CFA. `is_in_link`: except for the return address.
constexpr RowKind kind_by_cfa(CfaRule cfa, bool is_in_link) {
  switch (cfa) {
    case CfaRule::kStack:
      return is_in_link ? RowKind::kStackLeaf : RowKind::kStackOffset;
    case CfaRule::kFrame:
      return is_in_link ? RowKind::kFrameLeaf : RowKind::kFrameOffset;
    default:
      return RowKind::kUnsupported;
  }
}

// Distances in words of the CPU. False: not a multiple of a word.
template <UnwoundCpu Cpu>
constexpr bool in_words(int64_t bytes, int64_t& words) {
  constexpr auto kWord = static_cast<int64_t>(sizeof(typename Cpu::Word));
  words = bytes / kWord;
  return words * kWord == bytes;
}

template <UnwoundCpu Cpu>
Row make_row(const State& state) {
  constexpr Row kUnsupported(RowKind::kUnsupported);
  const RegisterRule& ra = state.return_address;
  const RegisterRule& fp = state.frame_pointer;
  if (ra.rule == Rule::kUndefined) return Row(RowKind::kEnd);
  const bool is_in_link = kHasLinkRegister<Cpu> && ra.rule == Rule::kSame;
  int64_t cfa_words = 0;
  int64_t ra_words = 0;
  int64_t fp_words = 0;
  if (!in_words<Cpu>(state.cfa_offset, cfa_words) || !in_words<Cpu>(ra.offset, ra_words) ||
      !in_words<Cpu>(fp.offset, fp_words) || (ra.rule != Rule::kOffset && !is_in_link)) {
    return kUnsupported;
  }
  if (state.cfa == CfaRule::kFrameIndirect) {
    const bool is_whole = fp.rule == Rule::kFrameRelative && !is_in_link && Row::fits(ra_words, fp_words);
    return is_whole ? Row(RowKind::kFrameIndirect, ra_words, fp_words, cfa_words) : kUnsupported;
  }
  if (fp.rule == Rule::kFrameRelative || fp.rule == Rule::kOther) return kUnsupported;
  const RowKind kind = kind_by_cfa(state.cfa, is_in_link);
  if (fp.rule != Rule::kOffset) fp_words = 0;
  if (kind == RowKind::kUnsupported) return kUnsupported;
  if (Row::fits(ra_words, fp_words)) return Row(kind, is_in_link ? 0 : ra_words, fp_words, cfa_words);
  // Saved at the lower end of a large frame: relative to the register that the CFA is relative to.
  if (!kHasLinkRegister<Cpu> || is_in_link) return kUnsupported;
  const bool is_stack = state.cfa == CfaRule::kStack;
  if (fp.rule == Rule::kOffset && ra_words == fp_words + 1 && Row::fits(0, fp_words))
    return Row(is_stack ? RowKind::kStackPair : RowKind::kFramePair, 0, fp_words, cfa_words);
  ra_words += cfa_words;
  if (fp.rule == Rule::kOffset) fp_words += cfa_words;
  if (!Row::fits(ra_words, fp_words)) return kUnsupported;
  if (fp.rule != Rule::kOffset) return is_stack ? Row(RowKind::kStackReturn, ra_words, 0, cfa_words) : kUnsupported;
  return Row(is_stack ? RowKind::kStackRecord : RowKind::kFrameRecord, ra_words, fp_words, cfa_words);
}

}  // namespace cfi

// Code range that an FDE describes.
struct Extent {
  uint64_t begin = 0;
  uint64_t bytes = 0;

  [[nodiscard]] bool contains(uint64_t pc) const { return pc >= begin && pc - begin < bytes; }
};

namespace cfi {

// Reads the FDE at this address as far as its extent. False: invalid.
template <typename Cpu, typename Form>
bool enter_fde(const CfiTables& tables, uint64_t fde, ByteReader& reader, Cie& cie, Extent& extent) {
  uint64_t fde_end = 0;
  if (fde == 0 || !enter_entry(reader, fde_end)) return false;
  const uint64_t id_address = reader.address();
  const auto id = reader.fixed<uint32_t>();
  if (id == Form::kCieId || !parse_cie<Cpu, Form>(tables, Form::cie_of(tables, id_address, id), cie)) return false;
  extent.begin =
      static_cast<typename Cpu::Word>(reader.pointer(cie.pointer_encoding & 0x7f, 0, sizeof(typename Cpu::Word)));
  extent.bytes = reader.pointer(cie.pointer_encoding & kPointerFormat, 0, sizeof(typename Cpu::Word));
  return reader.ok();
}

}  // namespace cfi

// The extent of the FDE at this address. Empty where it is invalid.
template <typename Cpu, typename Form = cfi::EhFrame>
Extent extent_of_fde(const CfiTables& tables, uint64_t fde) {
  ByteReader reader = tables.reader_at(fde);
  cfi::Cie cie;
  Extent extent;
  return cfi::enter_fde<Cpu, Form>(tables, fde, reader, cie, extent) ? extent : Extent();
}

// The row for the instruction at pc from the FDE at this address. kNoTable where the FDE doesn't cover it.
template <typename Cpu, typename Form = cfi::EhFrame>
Row row_of_fde(const CfiTables& tables, uint64_t fde, uint64_t pc) {
  using namespace cfi;
  constexpr Row kNoTable(RowKind::kNoTable);
  ByteReader reader = tables.reader_at(fde);
  Cie cie;
  Extent extent;
  if (!enter_fde<Cpu, Form>(tables, fde, reader, cie, extent) || !extent.contains(pc)) return kNoTable;
  const uint64_t begin = extent.begin;
  if (cie.is_signal) return Row(RowKind::kSignal);
  if (cie.has_augmentation_data) reader.skip(reader.uleb());

  State initial;
  ByteReader cie_reader = tables.reader_at(cie.instructions);
  cie_reader.limit(cie.instructions_end - cie.instructions);
  if (!Program<Cpu>(cie, initial).run(cie_reader, 0, UINT64_MAX, nullptr)) {
    return Row(RowKind::kUnsupported);
  }
  State state = initial;
  if (!Program<Cpu>(cie, state).run(reader, begin, pc, &initial)) return Row(RowKind::kUnsupported);
  return make_row<Cpu>(state);
}

// Calls visit(begin, end, row) for each piece of the FDE's range, in order; kUnsupported where the program can't be followed further.
template <typename Cpu, typename Form, typename Visit>
void for_each_row(const CfiTables& tables, uint64_t fde, const Visit& visit) {
  using namespace cfi;
  constexpr Row kUnsupported(RowKind::kUnsupported);
  ByteReader reader = tables.reader_at(fde);
  Cie cie;
  Extent extent;
  if (!enter_fde<Cpu, Form>(tables, fde, reader, cie, extent) || extent.bytes == 0) return;
  const uint64_t end = extent.begin + extent.bytes;
  if (end <= extent.begin) return;
  if (cie.is_signal) return visit(extent.begin, end, Row(RowKind::kSignal));
  if (cie.has_augmentation_data) reader.skip(reader.uleb());
  State initial;
  ByteReader cie_reader = tables.reader_at(cie.instructions);
  cie_reader.limit(cie.instructions_end - cie.instructions);
  if (!Program<Cpu>(cie, initial).run(cie_reader, 0, UINT64_MAX, nullptr)) {
    return visit(extent.begin, end, kUnsupported);
  }
  State state = initial;
  uint64_t done = extent.begin;
  const auto passed = [&](uint64_t /*begin*/, uint64_t location) {
    if (location > end) location = end;
    if (location <= done) return;
    visit(done, location, make_row<Cpu>(state));
    done = location;
  };
  const bool is_sound = Program<Cpu>(cie, state).run(reader, extent.begin, end - 1, &initial, passed);
  if (done < end) visit(done, end, is_sound ? make_row<Cpu>(state) : kUnsupported);
}

// The function of pc, or its part, by the FDE that covers it. Empty: unknown.
template <typename Cpu>
Extent range_of_function(const CfiTables& tables, uint64_t pc) {
  if (tables.header == 0) return {};
  const Extent extent = extent_of_fde<Cpu>(tables, cfi::find_fde<Cpu>(tables, pc));
  return extent.contains(pc) ? extent : Extent();
}

// Where it begins. 0: unknown.
template <typename Cpu>
uint64_t function_of(const CfiTables& tables, uint64_t pc) {
  return range_of_function<Cpu>(tables, pc).begin;
}

// The row for the instruction at pc (for a return address: pc - 1). kNoTable where no CFI covers it.
template <typename Cpu>
Row find_row(const CfiTables& tables, uint64_t pc) {
  constexpr Row kNoTable(RowKind::kNoTable);
  if (tables.header == 0) return kNoTable;
  return row_of_fde<Cpu>(tables, cfi::find_fde<Cpu>(tables, pc), pc);
}

}  // namespace heaptap::unwind
