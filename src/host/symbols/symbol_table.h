// The functions of a file's ELF symbol tables by address. Private to symbols/.
#pragma once
#include <elfutils/libdwfl.h>

#include <cstdint>
#include <vector>

#include "host/symbols/address_range.h"
#include "host/symbols/range_map.h"

namespace heaptap::symbols {

class SymbolTable {
 public:
  SymbolTable() = default;
  // .symtab of the file or of its debug file, else .dynsym with what .gnu_debugdata adds. `module` must outlive this.
  // Without .symtab (`is_complete` false) a symbol without a size names nothing: what follows it may be a function of
  // its own that was stripped.
  SymbolTable(Dwfl_Module* module, const CodeRanges& code, bool is_complete);

  // The mangled name of the function around `address`, or a null pointer.
  [[nodiscard]] const char* find(uint64_t address) const;

 private:
  std::vector<const char*> names_;
  RangeMap ranges_;
};

}  // namespace heaptap::symbols
