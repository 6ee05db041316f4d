// Dynamic symbol table of a loaded object: the functions that it defines, read where the loader mapped it.
#pragma once
#include <elf.h>
#include <link.h>
#include <stdint.h>

#include "agent/core/string.h"

namespace heaptap::agent {

class SymbolTable {
 public:
  explicit SymbolTable(const dl_phdr_info& object) : bias_(object.dlpi_addr) {
    for (int i = 0; i < object.dlpi_phnum; ++i) {
      if (object.dlpi_phdr[i].p_type == PT_DYNAMIC) read_dynamic(bias_ + object.dlpi_phdr[i].p_vaddr);
    }
  }
  explicit SymbolTable(const link_map& object) : bias_(object.l_addr) {
    if (object.l_ld != nullptr) read_dynamic(reinterpret_cast<uintptr_t>(object.l_ld));
  }

  // Sets `bytes` to the code's size.
  [[nodiscard]] void* find(const char* name, uintptr_t& bytes) const {
    if (symbols_ == nullptr || strings_ == nullptr) return nullptr;
    const ElfW(Sym)* symbol = gnu_hash_ != nullptr ? find_gnu(name) : find_sysv(name);
    if (symbol == nullptr) return nullptr;
    const uintptr_t address = bias_ + symbol->st_value;
    bytes = symbol->st_size;
    if ((symbol->st_info & 0xf) == STT_GNU_IFUNC) return reinterpret_cast<void* (*)()>(address)();
    return reinterpret_cast<void*>(address);
  }

  // The object's own name (DT_SONAME), or "".
  [[nodiscard]] const char* own_name() const {
    return strings_ != nullptr && name_offset_ != 0 ? strings_ + name_offset_ : "";
  }

 private:
  __attribute__((noinline)) void read_dynamic(uintptr_t address) {
    for (auto* entry = reinterpret_cast<const ElfW(Dyn)*>(address); entry->d_tag != DT_NULL; ++entry) {
      // glibc has biased these pointers already, others (the vDSO, musl) not.
      uintptr_t pointer = entry->d_un.d_ptr;
      if (pointer < bias_) pointer += bias_;
      switch (entry->d_tag) {
        case DT_SYMTAB:
          symbols_ = reinterpret_cast<const ElfW(Sym)*>(pointer);
          break;
        case DT_STRTAB:
          strings_ = reinterpret_cast<const char*>(pointer);
          break;
        case DT_GNU_HASH:
          gnu_hash_ = reinterpret_cast<const uint32_t*>(pointer);
          break;
        case DT_HASH:
          sysv_hash_ = reinterpret_cast<const uint32_t*>(pointer);
          break;
        case DT_SONAME:
          name_offset_ = entry->d_un.d_val;
          break;
        case DT_VERSYM:
          versions_ = reinterpret_cast<const uint16_t*>(pointer);
          break;
        default:
          break;
      }
    }
  }

  [[nodiscard]] bool is_definition(uint32_t index, const char* name) const {
    const ElfW(Sym)& symbol = symbols_[index];
    const unsigned type = symbol.st_info & 0xf;
    constexpr uint16_t kHiddenVersion = 0x8000;  // an old version of the name, kept for old programs
    if (versions_ != nullptr && (versions_[index] & kHiddenVersion) != 0) return false;
    return symbol.st_shndx != SHN_UNDEF &&
           (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE || type == STT_OBJECT) &&
           equal(strings_ + symbol.st_name, name);
  }

  [[nodiscard]] const ElfW(Sym) * find_gnu(const char* name) const {
    uint32_t hash = 5381;
    for (const char* at = name; *at != '\0'; ++at) hash = hash * 33 + static_cast<uint8_t>(*at);
    const uint32_t bucket_count = gnu_hash_[0];
    const uint32_t first = gnu_hash_[1];
    const uint32_t* buckets = gnu_hash_ + 4 + gnu_hash_[2] * (sizeof(uintptr_t) / 4);
    const uint32_t* chain = buckets + bucket_count;
    if (bucket_count == 0) return nullptr;
    for (uint32_t index = buckets[hash % bucket_count]; index >= first; ++index) {
      const uint32_t seen = chain[index - first];
      if ((seen | 1) == (hash | 1) && is_definition(index, name)) return &symbols_[index];
      if ((seen & 1) != 0) break;
    }
    return nullptr;
  }

  [[nodiscard]] const ElfW(Sym) * find_sysv(const char* name) const {
    if (sysv_hash_ == nullptr) return nullptr;
    const uint32_t count = sysv_hash_[1];
    for (uint32_t index = 1; index < count; ++index) {
      if (is_definition(index, name)) return &symbols_[index];
    }
    return nullptr;
  }

  uintptr_t bias_;
  const ElfW(Sym) * symbols_ = nullptr;
  const char* strings_ = nullptr;
  uintptr_t name_offset_ = 0;
  const uint32_t* gnu_hash_ = nullptr;
  const uint32_t* sysv_hash_ = nullptr;
  const uint16_t* versions_ = nullptr;
};

}  // namespace heaptap::agent
