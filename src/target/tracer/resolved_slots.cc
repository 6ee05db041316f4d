#include "target/tracer/resolved_slots.h"

#include <elf.h>

#include <algorithm>
#include <array>

#include "target/tracer/dynamic_section.h"
#include "target/tracer/object_file.h"

namespace heaptap::tracer {
namespace {

constexpr uint64_t kMostTableBytes = uint64_t{64} << 20;

// Where the file holds what is at that address of the object once it is loaded. UINT64_MAX: nowhere.
uint64_t file_offset(const MappedObject& object, uint64_t address) {
  for (const ElfSegment& segment : object.loaded) {
    const uint64_t distance = address - object.bias - segment.address;
    if (distance < segment.file_bytes) return segment.offset + distance;
  }
  return UINT64_MAX;
}

}  // namespace

ResolvedSlots::ResolvedSlots(const ByteSource& memory, ElfForm form, pid_t thread,
                             std::span<const FoundFunction> resolvers, const WatchedNames& names)
    : memory_(memory), form_(form), thread_(thread), resolvers_(resolvers), names_(names) {}

uint64_t ResolvedSlots::word(const ByteSource& source, uint64_t at) const {
  std::array<uint8_t, 8> raw{};
  if (source.read(at, raw.data(), form_.word_bytes) != form_.word_bytes) return 0;
  return form_.number(raw.data(), form_.word_bytes);
}

std::vector<ResolvedSlots::Table> ResolvedSlots::tables_of(const MappedObject& object, int file) const {
  std::vector<Table> tables;
  if (object.dynamic != 0) {
    const DynamicSection dynamic(memory_, form_, object.dynamic, object.dynamic_bytes, object.bias, object.range);
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
  // A program without a loader relocates itself by what only its sections name.
  const FileBytes bytes(file);
  const auto elf = ElfFile::read(bytes);
  if (!elf) return tables;
  for (const ElfSection& section : elf->read_sections(bytes)) {
    if ((section.flags & SHF_ALLOC) == 0 || (section.type != SHT_RELA && section.type != SHT_REL)) continue;
    tables.push_back({object.bias + section.address, section.bytes, section.type == SHT_RELA});
  }
  return tables;
}

std::vector<ResolvedSlots::Relocation> ResolvedSlots::read(const MappedObject& object, const Table& table) const {
  std::vector<uint8_t> raw(static_cast<size_t>(std::min(table.bytes, kMostTableBytes)));
  raw.resize(memory_.read(table.address, raw.data(), raw.size()));
  const size_t word_bytes = form_.word_bytes;
  const size_t entry_bytes = (table.has_addends ? 3 : 2) * word_bytes;
  std::vector<Relocation> relocations;
  for (size_t at = 0; at + entry_bytes <= raw.size(); at += entry_bytes) {
    const uint64_t kind = form_.number(&raw[at + word_bytes], form_.word_bytes);
    relocations.push_back(
        {.slot = object.bias + form_.number(&raw[at], form_.word_bytes),
         .symbol = word_bytes == 8 ? kind >> 32 : kind >> 8,
         .addend = table.has_addends ? form_.number(&raw[at + 2 * word_bytes], form_.word_bytes) : 0});
  }
  return relocations;
}

// The numbers of its symbols that are called as one of the resolvers is, by whoever defines them.
std::map<uint64_t, wire::Function> ResolvedSlots::symbols_of(const MappedObject& object) const {
  std::map<uint64_t, wire::Function> symbols;
  const DynamicSection dynamic(memory_, form_, object.dynamic, object.dynamic_bytes, object.bias, object.range);
  search_symbols(memory_, form_, dynamic.symbols(memory_), names_.symbols(),
                 [&](size_t name, const ElfSymbol&, uint64_t number) {
                   const wire::Function function = names_[name].function;
                   if (function == wire::Function::kNone) return;
                   if (std::ranges::count(resolvers_, function, &FoundFunction::function) == 0) return;
                   symbols.emplace(number, function);
                 });
  return symbols;
}

std::vector<FoundFunction> ResolvedSlots::of(const MappedObject& object) const {
  std::vector<FoundFunction> found;
  const ObjectFile opened = open_object_file(thread_, object);
  const FileBytes file(opened.file.descriptor());
  const std::map<uint64_t, wire::Function> symbols = symbols_of(object);
  const auto note = [&](uint64_t slot, uint64_t initial, wire::Function function) {
    const uint64_t value = word(memory_, slot);
    // As it was, or moved only: not bound yet.
    if (value == 0 || value == initial || value == initial + object.bias) return;
    if (std::ranges::count(resolvers_, value, &FoundFunction::address) != 0) return;
    found.push_back({.address = value, .size_bytes = 0, .watch = Watch::kCall, .function = function});
  };
  for (const Table& table : tables_of(object, opened.file.descriptor())) {
    for (const Relocation& relocation : read(object, table)) {
      const uint64_t initial = word(file, file_offset(object, relocation.slot));
      if (const auto symbol = symbols.find(relocation.symbol); relocation.symbol != 0 && symbol != symbols.end()) {
        note(relocation.slot, initial, symbol->second);
      } else if (relocation.symbol == 0) {
        const uint64_t resolver = object.bias + (table.has_addends ? relocation.addend : initial);
        for (const FoundFunction& known : resolvers_) {
          if (known.address == resolver) note(relocation.slot, initial, known.function);
        }
      }
    }
  }
  return found;
}

}  // namespace heaptap::tracer
