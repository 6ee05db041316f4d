// Row maker from ARM's exception index: .ARM.exidx, sorted by function, and what it points at in .ARM.extab. Source: Exception Handling
// ABI for the Arm Architecture, 6 (index table), 7.3 (generic routines), 10.3 (frame unwinding instructions). Freestanding; reads the
// tables where they are mapped here, as cfi.h does. Allocates nothing, trusts no byte.
//
// Such a table says how a function's frame is left at a call: of an instruction before the function has saved its registers, or behind
// where it has taken them back, it says nothing. So its rows are for return addresses alone.
#pragma once
#include <stdint.h>

#include "common/unwind/cfi.h"

namespace heaptap::unwind {

namespace exidx {

inline constexpr uint64_t kEntryBytes = 8;
inline constexpr uint32_t kCannotUnwind = 1;

// An offset from its own place, in the lower 31 bits.
constexpr uint64_t from_place(uint64_t place, uint32_t word) {
  const uint32_t offset = word << 1;
  return static_cast<uint32_t>(static_cast<uint32_t>(place) + static_cast<uint32_t>(static_cast<int32_t>(offset) >> 1));
}

struct Entry {
  uint64_t place = 0;  // of its second word; 0: there is none
  uint64_t function = 0;
  uint64_t end = 0;  // where the next function of the table begins; 0: it is the last one
  uint32_t word = 0;
};

inline uint64_t entry_count(const CfiTables& tables) {
  const uint64_t bytes = tables.reader_at(tables.header).left();
  return (tables.header_bytes < bytes ? tables.header_bytes : bytes) / kEntryBytes;
}

inline uint64_t function_at(const CfiTables& tables, uint64_t index) {
  const uint64_t place = tables.header + index * kEntryBytes;
  ByteReader reader = tables.reader_at(place);
  return from_place(place, reader.fixed<uint32_t>()) & ~uint64_t{1};
}

// The entry of the last function that begins at or before `pc`.
inline Entry find_entry(const CfiTables& tables, uint64_t pc) {
  const uint64_t count = entry_count(tables);
  if (tables.header == 0 || count == 0 || pc < function_at(tables, 0)) return {};
  uint64_t low = 0;
  for (uint64_t high = count; high - low > 1;) {
    const uint64_t middle = low + (high - low) / 2;
    (function_at(tables, middle) <= pc ? low : high) = middle;
  }
  Entry found;
  found.place = tables.header + low * kEntryBytes + sizeof(uint32_t);
  found.function = function_at(tables, low);
  found.end = low + 1 < count ? function_at(tables, low + 1) : 0;
  ByteReader reader = tables.reader_at(found.place);
  found.word = reader.fixed<uint32_t>();
  return found;
}

// The bytes of an entry's instructions, which are in words, the highest byte first. Behind their end: "finish".
class Instructions {
 public:
  static constexpr uint8_t kFinish = 0xb0;

  // In the entry itself, or in the table that it points at. False: not in a form that is known.
  bool open(const CfiTables& tables, const Entry& entry) {
    constexpr uint32_t kIsCompact = 0x80000000;
    if ((entry.word & kIsCompact) != 0) {
      take(entry.word, 3);
      return (entry.word & 0x7f000000) == 0;
    }
    reader_ = tables.reader_at(from_place(entry.place, entry.word));
    auto word = reader_.fixed<uint32_t>();
    if ((word & kIsCompact) == 0) {  // a language's routine, with instructions as compilers write them for all
      word = reader_.fixed<uint32_t>();
      words_left_ = word >> 24;
      take(word, 3);
      return reader_.ok();
    }
    const uint32_t routine = word >> 24 & 0xf;
    if ((word & 0x70000000) != 0 || routine > 2) return false;
    if (routine == 0) {
      take(word, 3);
    } else {
      words_left_ = word >> 16 & 0xff;
      take(word, 2);
    }
    return reader_.ok();
  }

  uint8_t next() {
    if (bytes_left_ == 0) {
      if (words_left_ == 0) return kFinish;
      --words_left_;
      take(reader_.fixed<uint32_t>(), 4);
      is_sound_ = is_sound_ && reader_.ok();
    }
    --bytes_left_;
    return static_cast<uint8_t>(word_ >> (8 * bytes_left_));
  }
  [[nodiscard]] bool is_sound() const { return is_sound_; }

 private:
  void take(uint32_t word, uint32_t bytes) {
    word_ = word;
    bytes_left_ = bytes;
  }

  ByteReader reader_{nullptr, 0, 0};
  uint32_t word_ = 0;
  uint32_t bytes_left_ = 0;
  uint32_t words_left_ = 0;
  bool is_sound_ = true;
};

// Executes instructions with a stack pointer that is a distance from one of the two registers that rows know.
template <typename Cpu>
class Frame {
 public:
  // False: one that no row can express, or a table that makes no sense.
  bool run(Instructions& instructions) {
    while (true) {  // a table has 255 words at most
      const uint8_t opcode = instructions.next();
      if (opcode == Instructions::kFinish) return instructions.is_sound();
      if (!execute(opcode, instructions)) return false;
    }
  }

  [[nodiscard]] Row row() const {
    constexpr Row kUnsupported(RowKind::kUnsupported);
    if (has_stack_pointer_) {  // a signal's frame: all registers are taken from it
      const bool is_signal = base_ == cfi::CfaRule::kStack && first_place_ == kSignalPlace && taken_ == 0xffff;
      return is_signal ? Row(RowKind::kSignal) : kUnsupported;
    }
    cfi::State state;
    state.cfa = base_;
    state.cfa_offset = offset_;
    const int32_t return_place = (taken_ & 1u << kProgramCounter) != 0 ? counter_place_ : link_place_;
    if ((taken_ & (1u << kProgramCounter | 1u << Cpu::kReturnAddress)) != 0)
      state.return_address = {cfi::Rule::kOffset, return_place - offset_};
    if ((taken_ & 1u << Cpu::kFramePointer) != 0) state.frame_pointer = {cfi::Rule::kOffset, frame_place_ - offset_};
    return cfi::make_row<Cpu>(state);
  }

 private:
  static constexpr int32_t kWord = 4;
  static constexpr int32_t kDoubleWord = 8;
  static constexpr unsigned kProgramCounter = 15;
  static constexpr auto kSignalPlace = static_cast<int32_t>(Cpu::kSignalRegisters);
  static constexpr int32_t kLargestFrame = 1 << 30;

  bool move(int32_t bytes) {
    offset_ += bytes;
    return offset_ > -kLargestFrame && offset_ < kLargestFrame;
  }

  // Takes registers from the stack, in the order of their numbers.
  bool pop(uint32_t registers) {
    for (unsigned number = 0; number < 16; ++number) {
      if ((registers >> number & 1) == 0) continue;
      if (taken_ == 0) first_place_ = offset_;
      if (number == Cpu::kFramePointer) frame_place_ = offset_;
      if (number == Cpu::kReturnAddress) link_place_ = offset_;
      if (number == kProgramCounter) counter_place_ = offset_;
      has_stack_pointer_ = has_stack_pointer_ || number == Cpu::kStackPointer;
      taken_ |= 1u << number;
      if (!move(kWord)) return false;
    }
    return true;
  }

  // The stack pointer is this register's value: the frame pointer's, as long as nothing was taken from the stack.
  bool set_from(unsigned number) {
    if (number != Cpu::kFramePointer || taken_ != 0) return false;
    base_ = cfi::CfaRule::kFrame;
    offset_ = 0;
    return true;
  }

  bool execute(uint8_t opcode, Instructions& instructions) {
    if (opcode < 0x40) return move((opcode & 0x3f) * kWord + kWord);
    if (opcode < 0x80) return move(-((opcode & 0x3f) * kWord + kWord));
    if (opcode < 0x90) {
      const uint32_t registers = (opcode & 0xfu) << 12 | static_cast<uint32_t>(instructions.next()) << 4;
      return registers != 0 && pop(registers);  // none: not to be unwound
    }
    if (opcode < 0xa0) return set_from(opcode & 0xf);
    if (opcode < 0xb0) {
      const uint32_t some = ((2u << (opcode & 7)) - 1) << 4;
      return pop(some | ((opcode & 8) != 0 ? 1u << Cpu::kReturnAddress : 0));
    }
    return execute_others(opcode, instructions);
  }

  bool execute_others(uint8_t opcode, Instructions& instructions) {
    switch (opcode) {
      case 0xb1: {
        const uint8_t some = instructions.next();
        return some != 0 && (some & 0xf0) == 0 && pop(some);
      }
      case 0xb2:
        return move_far(instructions);
      case 0xb3:  // floating-point registers, saved with a word of their format
        return move(((instructions.next() & 0xf) + 1) * kDoubleWord + kWord);
      case 0xc8:
      case 0xc9:
        return move(((instructions.next() & 0xf) + 1) * kDoubleWord);
      default:
        break;
    }
    if ((opcode & 0xf8) == 0xb8) return move(((opcode & 7) + 1) * kDoubleWord + kWord);
    if ((opcode & 0xf8) == 0xd0) return move(((opcode & 7) + 1) * kDoubleWord);
    return false;  // registers of other coprocessors, or none that is known
  }

  bool move_far(Instructions& instructions) {
    uint64_t words = 0;
    for (unsigned shift = 0; shift < 28; shift += 7) {
      const uint8_t byte = instructions.next();
      words |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return words < kLargestFrame / kWord && move(0x204 + static_cast<int32_t>(words) * kWord);
    }
    return false;
  }

  cfi::CfaRule base_ = cfi::CfaRule::kStack;
  int32_t offset_ = 0;  // of the stack pointer, from that register
  uint32_t taken_ = 0;  // a bit for each register
  bool has_stack_pointer_ = false;
  int32_t first_place_ = 0;
  int32_t frame_place_ = 0;
  int32_t link_place_ = 0;
  int32_t counter_place_ = 0;
};

}  // namespace exidx

// The row of a call, whose return address is behind `pc`. kNoTable: nothing is known of the function.
template <typename Cpu>
Row find_indexed_row(const CfiTables& tables, uint64_t pc) {
  const exidx::Entry entry = exidx::find_entry(tables, pc);
  if (entry.place == 0 || entry.word == exidx::kCannotUnwind) return Row(RowKind::kNoTable);
  exidx::Instructions instructions;
  exidx::Frame<Cpu> frame;
  if (!instructions.open(tables, entry) || !frame.run(instructions)) return Row(RowKind::kUnsupported);
  return frame.row();
}

// Where the function of pc begins, or the run of functions that share an entry. 0: unknown.
inline uint64_t indexed_function_of(const CfiTables& tables, uint64_t pc) {
  return exidx::find_entry(tables, pc).function;
}

}  // namespace heaptap::unwind
