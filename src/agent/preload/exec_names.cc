#include "agent/preload/exec_names.h"

#include <stddef.h>
#include <stdint.h>

#include "agent/core/string.h"
#include "agent/preload/exec_program.h"

namespace heaptap::agent {
namespace {

constexpr const char* kRuntimeLibraries[] = {"libasan.so", "libtsan.so", "liblsan.so", "libhwasan.so", "libclang_rt."};
constexpr const char* kRuntimeFunctions[] = {"__asan_init", "__tsan_init", "__msan_init", "__lsan_init",
                                             "__hwasan_init"};
constexpr size_t kLongestFunction = 16;

// A loaded table: its address, and its offset in the file. 0: none.
struct LoadedTable {
  uint64_t address = 0;
  uint64_t offset = 0;
};

struct NameTables {
  LoadedTable strings, symbols, hashes, old_hashes;
};

constexpr uint64_t kMaxEntries = 4096;

uint64_t count_of(const ElfW(Phdr) & dynamic) {
  const uint64_t count = dynamic.p_filesz / sizeof(ElfW(Dyn));
  return count < kMaxEntries ? count : kMaxEntries;
}

__attribute__((noinline)) void find_addresses(const Program& program, const ElfW(Phdr) & dynamic, NameTables& tables) {
  visit_table<ElfW(Dyn)>(program, dynamic.p_offset, count_of(dynamic), [&](const ElfW(Dyn) & entry) {
    if (entry.d_tag == DT_STRTAB) tables.strings.address = entry.d_un.d_ptr;
    if (entry.d_tag == DT_SYMTAB) tables.symbols.address = entry.d_un.d_ptr;
    if (entry.d_tag == DT_GNU_HASH) tables.hashes.address = entry.d_un.d_ptr;
    if (entry.d_tag == DT_HASH) tables.old_hashes.address = entry.d_un.d_ptr;
    return entry.d_tag != DT_NULL;
  });
}

__attribute__((noinline)) void find_offsets(const Program& program, const ElfW(Ehdr) & header, NameTables& tables) {
  visit_segments(program, header, [&](const ElfW(Phdr) & segment) {
    if (segment.p_type != PT_LOAD) return;
    for (LoadedTable* table : {&tables.strings, &tables.symbols, &tables.hashes, &tables.old_hashes}) {
      const uint64_t inside = table->address - segment.p_vaddr;
      if (table->address != 0 && inside < segment.p_filesz) table->offset = segment.p_offset + inside;
    }
  });
}

bool is_runtime_library(const char* name) {
  for (const char* library : kRuntimeLibraries) {
    if (starts_with(name, library)) return true;
  }
  return false;
}

__attribute__((noinline)) bool needs_a_runtime(const Program& program, const ElfW(Phdr) & dynamic,
                                               const LoadedTable& strings) {
  bool found = false;
  visit_table<ElfW(Dyn)>(program, dynamic.p_offset, count_of(dynamic), [&](const ElfW(Dyn) & entry) {
    if (entry.d_tag != DT_NEEDED) return entry.d_tag != DT_NULL;
    char name[256 + 1];
    name[program.read(strings.offset + entry.d_un.d_val, name, sizeof(name) - 1)] = '\0';
    found = is_runtime_library(file_name_of(name));
    return !found;
  });
  return found;
}

template <typename Value>
bool read_value(const Program& program, uint64_t offset, Value& value) {
  return program.read(offset, &value, sizeof(value)) == sizeof(value);
}

bool is_defined_as(const Program& program, const NameTables& tables, uint32_t number, const char* name) {
  ElfW(Sym) symbol;
  char text[kLongestFunction];
  const size_t bytes = length_of(name) + 1;
  return read_value(program, tables.symbols.offset + uint64_t{number} * sizeof(symbol), symbol) &&
         symbol.st_shndx != SHN_UNDEF && program.read(tables.strings.offset + symbol.st_name, text, bytes) == bytes &&
         equal(text, name);
}

// Maximum length of a chain in a hash table.
constexpr uint32_t kLongestChain = 1024;

uint32_t hash_of(const char* name) {
  uint32_t hash = 5381;
  for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<uint8_t>(*name);
  return hash;
}

// As the loader looks up a name: the filter excludes most missing names at once.
bool offers(const Program& program, const NameTables& tables, const char* name) {
  struct {
    uint32_t buckets, first_symbol, filter_words, filter_shift;
  } head;
  constexpr uint32_t kWordBits = 8 * sizeof(uintptr_t);
  const uint32_t hash = hash_of(name);
  if (!read_value(program, tables.hashes.offset, head) || head.buckets == 0 || head.filter_words == 0) return false;
  const uint64_t filter_at = tables.hashes.offset + sizeof(head);
  uintptr_t word = 0;
  if (!read_value(program, filter_at + uint64_t{hash / kWordBits % head.filter_words} * sizeof(word), word) ||
      (word >> hash % kWordBits & word >> (hash >> head.filter_shift % 32) % kWordBits & 1) == 0) {
    return false;
  }
  const uint64_t buckets_at = filter_at + uint64_t{head.filter_words} * sizeof(word);
  const uint64_t chains_at = buckets_at + uint64_t{head.buckets} * sizeof(uint32_t);
  uint32_t number = 0;
  if (!read_value(program, buckets_at + uint64_t{hash % head.buckets} * sizeof(number), number)) return false;
  for (uint32_t length = 0; number >= head.first_symbol && length < kLongestChain; ++number, ++length) {
    uint32_t of_symbol = 0;
    if (!read_value(program, chains_at + uint64_t{number - head.first_symbol} * sizeof(of_symbol), of_symbol)) break;
    if ((of_symbol | 1) == (hash | 1) && is_defined_as(program, tables, number, name)) return true;
    if ((of_symbol & 1) != 0) break;
  }
  return false;
}

uint32_t old_hash_of(const char* name) {
  uint32_t hash = 0;
  for (; *name != '\0'; ++name) {
    hash = (hash << 4) + static_cast<uint8_t>(*name);
    const uint32_t high = hash & 0xf0000000;
    hash = (hash ^ high >> 24) & ~high;
  }
  return hash;
}

// In the older kind of hash table, which some linkers still make.
bool offers_by_old(const Program& program, const NameTables& tables, const char* name) {
  struct {
    uint32_t buckets, symbols;
  } head;
  if (!read_value(program, tables.old_hashes.offset, head) || head.buckets == 0) return false;
  const uint64_t buckets_at = tables.old_hashes.offset + sizeof(head);
  const uint64_t chains_at = buckets_at + uint64_t{head.buckets} * sizeof(uint32_t);
  uint64_t at = buckets_at + uint64_t{old_hash_of(name) % head.buckets} * sizeof(uint32_t);
  uint32_t number = 0;
  for (uint32_t length = 0; length < kLongestChain; ++length) {
    if (!read_value(program, at, number) || number == 0 || number >= head.symbols) return false;
    if (is_defined_as(program, tables, number, name)) return true;
    at = chains_at + uint64_t{number} * sizeof(number);
  }
  return false;
}

}  // namespace

bool names_a_sanitizer(const Program& program, const ElfW(Ehdr) & header, const ElfW(Phdr) & dynamic) {
  NameTables tables;
  find_addresses(program, dynamic, tables);
  find_offsets(program, header, tables);
  if (tables.strings.offset == 0) return false;
  if (needs_a_runtime(program, dynamic, tables.strings)) return true;
  for (const char* name : kRuntimeFunctions) {
    const bool is_offered = tables.hashes.offset != 0       ? offers(program, tables, name)
                            : tables.old_hashes.offset != 0 ? offers_by_old(program, tables, name)
                                                            : false;
    if (is_offered) return true;
  }
  return false;
}

}  // namespace heaptap::agent
