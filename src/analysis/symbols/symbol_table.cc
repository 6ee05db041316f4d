#include "analysis/symbols/symbol_table.h"

#include <gelf.h>

#include <algorithm>
#include <cstring>

namespace heaptap::symbols {
namespace {

constexpr int kSymbolLimit = 1 << 25;

struct Candidate {
  Symbol symbol;
  uint32_t preference = 0;
};

bool is_of(SymbolKind kind, const GElf_Sym& symbol) {
  if (symbol.st_shndx == SHN_UNDEF) return false;
  const auto type = GELF_ST_TYPE(symbol.st_info);
  switch (kind) {
    case SymbolKind::kCode:
      return type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE;
    case SymbolKind::kData:
      return (type == STT_OBJECT || type == STT_COMMON) && symbol.st_size > 0;
    default:
      return type == STT_TLS && symbol.st_size > 0;
  }
}

// ARM and AArch64 and RISC-V mark stretches of code and data with symbols like "$x" and "$d.12".
bool is_mapping_symbol(const char* name) { return name[0] == '$'; }

// Preference among several names of one function: malloc, not __libc_malloc or a local label; strdup, which is weak,
// not __strdup.
uint32_t preference_of(const GElf_Sym& symbol, const char* name) {
  const auto binding = GELF_ST_BIND(symbol.st_info);
  const uint32_t is_shown = binding == STB_LOCAL ? 0 : 1;
  const uint32_t is_strong = binding == STB_WEAK ? 0 : 1;
  const uint32_t by_type = GELF_ST_TYPE(symbol.st_info) == STT_NOTYPE ? 0 : 1;
  const size_t underscores = std::min<size_t>(std::strspn(name, "_"), 63);
  const size_t length = std::min<size_t>(std::strlen(name), 255);
  return by_type << 17 | is_shown << 16 | static_cast<uint32_t>(63 - underscores) << 10 | is_strong << 9 |
         static_cast<uint32_t>(255 - length);
}

std::vector<Candidate> read_symbols(Dwfl_Module* module, SymbolKind kind, const CodeRanges& inside) {
  std::vector<Candidate> symbols;
  const int count = std::min(dwfl_module_getsymtab(module), kSymbolLimit);
  GElf_Ehdr header;
  GElf_Addr bias = 0;
  Elf* elf = dwfl_module_getelf(module, &bias);
  const bool has_thumb_bit = kind == SymbolKind::kCode && elf != nullptr && gelf_getehdr(elf, &header) != nullptr &&
                             header.e_machine == EM_ARM;
  symbols.reserve(static_cast<size_t>(std::max(count, 0)));  // untouched memory is free, copies are not
  for (int i = 1; i < count; ++i) {
    GElf_Sym symbol;
    GElf_Addr address = 0;
    const char* name = dwfl_module_getsym_info(module, i, &symbol, &address, nullptr, nullptr, nullptr);
    if (name == nullptr || name[0] == '\0' || !is_of(kind, symbol) || is_mapping_symbol(name)) continue;
    if (kind == SymbolKind::kThreadLocal) address = symbol.st_value;
    if (has_thumb_bit) address &= ~GElf_Addr{1};
    if (inside.clip({address, address + 1}).end == 0) continue;
    symbols.push_back({.symbol = {.name = name, .begin = address, .size_bytes = symbol.st_size},
                       .preference = preference_of(symbol, name)});
  }
  return symbols;
}

}  // namespace

SymbolTable::SymbolTable(Dwfl_Module* module, SymbolKind kind, const CodeRanges& inside, bool is_complete) {
  std::vector<Candidate> symbols = read_symbols(module, kind, inside);
  std::ranges::sort(symbols, {}, [](const Candidate& each) { return each.symbol.begin; });
  std::vector<RangeMap::Range> ranges;
  ranges.reserve(symbols.size());
  symbols_.reserve(symbols.size());
  for (size_t first = 0; first < symbols.size();) {
    size_t end = first + 1;  // of those at the same address
    while (end < symbols.size() && symbols[end].symbol.begin == symbols[first].symbol.begin) ++end;
    const uint64_t next_begin = end < symbols.size() ? symbols[end].symbol.begin : ~uint64_t{0};
    for (size_t i = end; i-- > first;) {
      const Symbol& symbol = symbols[i].symbol;
      uint64_t symbol_end = symbol.begin + symbol.size_bytes;
      if (symbol.size_bytes == 0) symbol_end = is_complete ? next_begin : symbol.begin;
      const base::AddressRange clipped = inside.clip({symbol.begin, symbol_end});
      ranges.push_back({.begin = clipped.begin,
                        .end = clipped.end,
                        .depth = symbols[i].preference,
                        .value = static_cast<uint32_t>(symbols_.size())});
      symbols_.push_back(symbol);
    }
    first = end;
  }
  ranges_ = RangeMap(std::move(ranges));
}

std::span<const Symbol> SymbolTable::same_place(const Symbol& symbol) const {
  const Symbol* first = &symbol;
  const Symbol* last = &symbol;
  while (first != symbols_.data() && first[-1].begin == symbol.begin) --first;
  while (last + 1 != symbols_.data() + symbols_.size() && last[1].begin == symbol.begin) ++last;
  return {first, last + 1};
}

const Symbol* SymbolTable::find_symbol(uint64_t address) const {
  const auto index = ranges_.find(address);
  return index ? &symbols_[*index] : nullptr;
}

}  // namespace heaptap::symbols
