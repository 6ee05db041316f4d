// The symbols of one kind of a file's ELF symbol tables by address. Private to symbols/.
#pragma once
#include <elfutils/libdwfl.h>

#include <cstdint>
#include <span>
#include <vector>

#include "symbols/code_ranges.h"
#include "symbols/range_map.h"

namespace heaptap::symbols {

enum class SymbolKind {
  kCode,
  kData,
  kThreadLocal,  // their addresses are offsets in the thread-local segment
};

struct Symbol {
  const char* name = nullptr;  // mangled
  uint64_t begin = 0;
  uint64_t size_bytes = 0;
};

class SymbolTable {
 public:
  SymbolTable() = default;
  // .symtab of the file or of its debug file, else .dynsym with what .gnu_debugdata adds. `module` must outlive this.
  // Without .symtab (`is_complete` false) a symbol without a size names nothing: what follows it may be a function of
  // its own that was stripped. Of data such a symbol never names anything. Only what lies in `inside` counts.
  SymbolTable(Dwfl_Module* module, SymbolKind kind, const CodeRanges& inside, bool is_complete);

  // The symbol around `address`, or a null pointer.
  [[nodiscard]] const Symbol* find_symbol(uint64_t address) const;
  // All that begin where this one of the table does, itself among them.
  [[nodiscard]] std::span<const Symbol> same_place(const Symbol& symbol) const;
  // Its mangled name.
  [[nodiscard]] const char* find(uint64_t address) const {
    const Symbol* symbol = find_symbol(address);
    return symbol == nullptr ? nullptr : symbol->name;
  }

 private:
  std::vector<Symbol> symbols_;
  RangeMap ranges_;
};

}  // namespace heaptap::symbols
