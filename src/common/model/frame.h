// Symbolized call frame: a code address with its names, one line of a displayed call stack.
#pragma once
#include <cstdint>
#include <string>

namespace heaptap::model {

// Module of frames of interpreted code.
inline constexpr const char* kInterpretedModule = "[python]";

struct Frame {
  std::string function;      // demangled; empty: no symbol covers the address
  std::string symbol;        // mangled name in the file; empty: equal, or unknown
  std::string aliases = {};  // other symbols at the function's address, blanks between; mostly empty
  std::string module;        // path in the target; empty: no module covers the address
  uint64_t offset = 0;       // of the instruction in the module's link-time address space (what addr2line takes)
  uint64_t address = 0;      // in the process
  std::string file;          // empty: no line information
  uint32_t line = 0;
  uint32_t column = 0;          // from 1, in bytes; 0: unknown
  bool inlined = false;         // this function was inlined into the next frame's
  bool of_interpreter = false;  // code of an interpreter whose program has frames of its own
};

}  // namespace heaptap::model
