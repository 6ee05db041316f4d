// Search for a few symbols by name in a large symbol table, in a file or in memory, without storing either table: first
// finds the names in the string table, then the symbols that refer to them.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "capture/elf/elf_headers.h"
#include "common/base/byte_source.h"

namespace heaptap::elf {

struct SymbolTable {
  uint64_t symbols = 0;  // address or offset of the first
  uint64_t count = 0;
  uint64_t strings = 0;
  uint64_t strings_bytes = 0;
};

// .dynsym (SHT_DYNSYM) or .symtab (SHT_SYMTAB) of a file; count 0: it has none.
SymbolTable table_in_file(ElfForm form, const std::vector<ElfSection>& sections, uint32_t type);

// Calls found(index of the name, symbol, number of the symbol in the table) for each match.
using SymbolFound = std::function<void(size_t, const ElfSymbol&, uint64_t)>;
void search_symbols(const base::ByteSource& source, ElfForm form, const SymbolTable& table,
                    std::span<const std::string_view> names, const SymbolFound& found);

}  // namespace heaptap::elf
