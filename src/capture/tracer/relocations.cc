#include "capture/tracer/relocations.h"

#include <elf.h>

#include <algorithm>

#include "capture/elf/dynamic_section.h"

namespace heaptap::tracer {
namespace {

constexpr uint64_t kMaxTableBytes = uint64_t{64} << 20;

struct Table {
  uint64_t address;
  uint64_t bytes;
  bool has_addends;
};

std::vector<Table> tables_of(const base::ByteSource& memory, elf::ElfForm form, const elf::MappedObject& object,
                             int file) {
  std::vector<Table> tables;
  if (object.dynamic != 0) {
    const elf::DynamicSection dynamic(memory, form, object.dynamic, object.dynamic_bytes, object.bias, object.range);
    const auto add = [&](int64_t place, int64_t bytes, bool has_addends) {
      if (const uint64_t at = dynamic.address(place); at != 0) {
        tables.push_back({at, dynamic.value(bytes).value_or(0), has_addends});
      }
    };
    add(DT_RELA, DT_RELASZ, true);
    add(DT_REL, DT_RELSZ, false);
    add(DT_JMPREL, DT_PLTRELSZ, dynamic.value(DT_PLTREL).value_or(DT_RELA) == DT_RELA);
    return tables;
  }
  // A program without a loader relocates itself by tables that only its sections name.
  const elf::FileBytes bytes(file);
  const auto elf = elf::ElfHeaders::read(bytes);
  if (!elf) return tables;
  for (const elf::ElfSection& section : elf->read_sections(bytes)) {
    if ((section.flags & SHF_ALLOC) == 0 || (section.type != SHT_RELA && section.type != SHT_REL)) continue;
    tables.push_back({object.bias + section.address, section.bytes, section.type == SHT_RELA});
  }
  return tables;
}

void read_table(const base::ByteSource& memory, elf::ElfForm form, uint64_t bias, const Table& table,
                std::vector<Relocation>& relocations) {
  std::vector<uint8_t> raw(static_cast<size_t>(std::min(table.bytes, kMaxTableBytes)));
  raw.resize(memory.read_some(table.address, raw.data(), raw.size()));
  const size_t word_bytes = form.word_bytes;
  const size_t entry_bytes = (table.has_addends ? 3 : 2) * word_bytes;
  for (size_t at = 0; at + entry_bytes <= raw.size(); at += entry_bytes) {
    const uint64_t what = form.number(&raw[at + word_bytes], form.word_bytes);
    relocations.push_back({.slot = bias + form.number(&raw[at], form.word_bytes),
                           .symbol = word_bytes == 8 ? what >> 32 : what >> 8,
                           .addend = table.has_addends ? form.number(&raw[at + 2 * word_bytes], form.word_bytes) : 0,
                           .has_addend = table.has_addends});
  }
}

}  // namespace

std::vector<Relocation> read_relocations(const base::ByteSource& memory, elf::ElfForm form,
                                         const elf::MappedObject& object, int file) {
  std::vector<Relocation> relocations;
  for (const Table& table : tables_of(memory, form, object, file)) {
    read_table(memory, form, object.bias, table, relocations);
  }
  return relocations;
}

std::map<uint64_t, wire::Function> find_symbol_numbers(const base::ByteSource& memory, elf::ElfForm form,
                                                       const elf::MappedObject& object, const WatchedNames& names,
                                                       std::span<const Relocation> relocations) {
  constexpr uint64_t kMaxSymbols = uint64_t{1} << 22;
  std::map<uint64_t, wire::Function> numbers;
  const elf::DynamicSection dynamic(memory, form, object.dynamic, object.dynamic_bytes, object.bias, object.range);
  elf::SymbolTable table = dynamic.symbols(memory);
  for (const Relocation& relocation : relocations)
    table.count = std::max(table.count, std::min(relocation.symbol + 1, kMaxSymbols));
  if (table.strings == 0) return numbers;
  elf::search_symbols(memory, form, table, names.symbols(), [&](size_t name, const elf::ElfSymbol&, uint64_t number) {
    if (names[name].function != wire::Function::kNone) numbers.emplace(number, names[name].function);
  });
  return numbers;
}

}  // namespace heaptap::tracer
