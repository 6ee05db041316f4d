#include "capture/tracer/resolved_slots.h"

#include <elf.h>

#include <algorithm>
#include <array>

#include "capture/elf/object_file.h"
#include "capture/tracer/relocations.h"

namespace heaptap::tracer {
namespace {

// Offset in the file of an address in the loaded object. UINT64_MAX: none.
uint64_t file_offset(const elf::MappedObject& object, uint64_t address) {
  for (const elf::ElfSegment& segment : object.loaded) {
    const uint64_t distance = address - object.bias - segment.address;
    if (distance < segment.file_bytes) return segment.offset + distance;
  }
  return UINT64_MAX;
}

}  // namespace

ResolvedSlots::ResolvedSlots(const base::ByteSource& memory, elf::ElfForm form, pid_t thread,
                             std::span<const FoundFunction> resolvers, const WatchedNames& names)
    : memory_(memory), form_(form), thread_(thread), resolvers_(resolvers), names_(names) {}

uint64_t ResolvedSlots::word(const base::ByteSource& source, uint64_t at) const {
  std::array<uint8_t, 8> raw{};
  if (source.read_some(at, raw.data(), form_.word_bytes) != form_.word_bytes) return 0;
  return form_.number(raw.data(), form_.word_bytes);
}

bool ResolvedSlots::is_resolved_by_name(wire::Function function) const {
  return std::ranges::find(resolvers_, function, &FoundFunction::function) != resolvers_.end();
}

std::vector<FoundFunction> ResolvedSlots::of(const elf::MappedObject& object) const {
  std::vector<FoundFunction> found;
  const elf::ObjectFile opened = elf::open_object_file_bounded(thread_, object);
  const elf::FileBytes file(opened.file.get());
  const std::vector<Relocation> relocations = read_relocations(memory_, form_, object, opened.file.get());
  const auto numbers = find_symbol_numbers(memory_, form_, object, names_, relocations);
  const auto note = [&](uint64_t slot, uint64_t initial, wire::Function function) {
    const uint64_t value = word(memory_, slot);
    // Unchanged or only relocated: not bound yet.
    if (value == 0 || value == initial || value == initial + object.bias) return;
    if (std::ranges::find(resolvers_, value, &FoundFunction::address) != resolvers_.end()) return;
    found.push_back({.address = value, .size_bytes = 0, .watch = Watch::kCall, .function = function});
  };
  for (const Relocation& relocation : relocations) {
    const auto number = relocation.symbol == 0 ? numbers.end() : numbers.find(relocation.symbol);
    const bool is_named = number != numbers.end() && is_resolved_by_name(number->second);
    if (!is_named && relocation.symbol != 0) continue;
    const uint64_t initial = word(file, file_offset(object, relocation.slot));
    if (is_named) note(relocation.slot, initial, number->second);
    const uint64_t resolver = object.bias + (relocation.has_addend ? relocation.addend : initial);
    for (const FoundFunction& known : resolvers_) {
      if (!is_named && known.address == resolver) note(relocation.slot, initial, known.function);
    }
  }
  return found;
}

}  // namespace heaptap::tracer
