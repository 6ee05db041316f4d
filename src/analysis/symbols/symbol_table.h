// ELF symbols of one kind, by address. Private to symbols/.
#pragma once
#include <elfutils/libdwfl.h>

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/symbols/code_ranges.h"
#include "analysis/symbols/range_map.h"

namespace heaptap::symbols {

enum class SymbolKind {
  kCode,
  kData,
  kThreadLocal,  // addresses are offsets in the thread-local segment
};

struct Symbol {
  const char* name = nullptr;  // mangled
  uint64_t begin = 0;
  uint64_t size_bytes = 0;
};

class SymbolTable {
 public:
  SymbolTable() = default;
  // .symtab of the file or of its debug file, else .dynsym plus .gnu_debugdata. `module` must outlive this. Without .symtab
  // (`is_complete` false) a symbol without a size covers nothing: a function stripped from the table may follow it. A data symbol
  // without a size never covers anything. Only symbols in `inside` count.
  SymbolTable(Dwfl_Module* module, SymbolKind kind, const CodeRanges& inside, bool is_complete);

  // The symbol that contains `address`, or null.
  [[nodiscard]] const Symbol* find_symbol(uint64_t address) const;
  // All symbols with the same start address as this one of the table, itself included.
  [[nodiscard]] std::span<const Symbol> same_place(const Symbol& symbol) const;
  // Mangled name of the symbol at `address`, or null.
  [[nodiscard]] const char* find(uint64_t address) const {
    const Symbol* symbol = find_symbol(address);
    return symbol == nullptr ? nullptr : symbol->name;
  }

 private:
  std::vector<Symbol> symbols_;
  RangeMap ranges_;
};

}  // namespace heaptap::symbols
