// A code address with the names that symbols gave it: one line of a call stack as it is shown.
#pragma once
#include <cstdint>
#include <string>

namespace heaptap::model {

struct Frame {
  std::string function;      // demangled; empty where no symbol covers the address
  std::string symbol;        // the same as the file has it, mangled; empty where it is equal or not known
  std::string aliases = {};  // other symbols at the function's address, blanks between; mostly empty
  std::string module;        // path as the target had it; empty where no module covers the address
  uint64_t offset = 0;       // of the instruction in the module's link-time address space (what addr2line takes)
  uint64_t address = 0;      // in the process
  std::string file;          // empty where there is no line information
  uint32_t line = 0;
  bool inlined = false;  // this function was inlined into the next frame's
};

}  // namespace heaptap::model
