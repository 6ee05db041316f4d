// Layout of CPython's objects, by version: offsets in bytes, of 64-bit builds with a global interpreter lock. From the headers of
// each version (Include/cpython, Include/internal); from 3.13 on the interpreter publishes them itself (_Py_DebugOffsets).
#pragma once
#include <stdint.h>

namespace heaptap::agent::python {

// Mark by which the first frame that a call of the evaluation function ran differs from those that it went on to run.
enum class EntryMark : uint8_t {
  kEachFrame,  // it runs one frame
  kFlag,       // a flag of that frame
  kShim,       // a frame of the evaluation function's own is behind it
};

// Encoding of the table from instructions to lines.
enum class LineTable : uint8_t {
  kIncrements,  // of addresses and lines, before 3.10
  kRanges,      // 3.10: of addresses, with the change of the line
  kLocations,   // from 3.11 on
};

struct Layout {
  EntryMark entry_mark;
  LineTable line_table;
  uint8_t bytes_per_index;  // of a frame's position where it is an index; 0: it is a pointer into the code
  bool has_holder;          // the thread state points to what points to the frame
  uint16_t state_frame;     // the frame, or its holder
  uint16_t holder_frame;
  uint16_t frame_code;
  uint16_t frame_previous;
  uint16_t frame_position;
  uint16_t frame_mark;  // a byte: the flag, or the owner
  uint16_t code_first_line;
  uint16_t code_file;
  uint16_t code_name;  // qualified where there is such a name
  uint16_t code_lines;
  uint16_t code_instructions;  // of code objects that have them within; 0: not needed
  uint16_t text_ascii;         // characters of an ASCII text
  uint16_t text_other;         // of other ones
};

inline constexpr uint8_t kOwnedByEvaluation = 3;  // FRAME_OWNED_BY_CSTACK

inline constexpr Layout k3_9{.entry_mark = EntryMark::kEachFrame,
                             .line_table = LineTable::kIncrements,
                             .bytes_per_index = 1,
                             .has_holder = false,
                             .state_frame = 24,
                             .holder_frame = 0,
                             .frame_code = 32,
                             .frame_previous = 24,
                             .frame_position = 104,
                             .frame_mark = 0,
                             .code_first_line = 40,
                             .code_file = 104,
                             .code_name = 112,
                             .code_lines = 120,
                             .code_instructions = 0,
                             .text_ascii = 48,
                             .text_other = 72};

inline constexpr Layout k3_10 = [] {
  Layout layout = k3_9;
  layout.line_table = LineTable::kRanges;
  layout.bytes_per_index = 2;
  layout.frame_position = 96;
  return layout;
}();

inline constexpr Layout k3_11{.entry_mark = EntryMark::kFlag,
                              .line_table = LineTable::kLocations,
                              .bytes_per_index = 0,
                              .has_holder = true,
                              .state_frame = 56,
                              .holder_frame = 8,
                              .frame_code = 32,
                              .frame_previous = 48,
                              .frame_position = 56,
                              .frame_mark = 68,
                              .code_first_line = 72,
                              .code_file = 112,
                              .code_name = 128,
                              .code_lines = 136,
                              .code_instructions = 184,
                              .text_ascii = 48,
                              .text_other = 72};

inline constexpr Layout k3_12{.entry_mark = EntryMark::kShim,
                              .line_table = LineTable::kLocations,
                              .bytes_per_index = 0,
                              .has_holder = true,
                              .state_frame = 56,
                              .holder_frame = 0,
                              .frame_code = 0,
                              .frame_previous = 8,
                              .frame_position = 56,
                              .frame_mark = 70,
                              .code_first_line = 68,
                              .code_file = 112,
                              .code_name = 128,
                              .code_lines = 136,
                              .code_instructions = 192,
                              .text_ascii = 40,
                              .text_other = 56};

}  // namespace heaptap::agent::python
