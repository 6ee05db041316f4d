// A loaded object's dynamic section, as it is in memory: there some loaders have relocated its addresses, others not.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "base/address_range.h"
#include "elf/elf_file.h"
#include "elf/symbol_search.h"

namespace heaptap::elf {

class DynamicSection {
 public:
  // Of an object that is mapped in `object`, `bias` behind where its file says.
  DynamicSection(const ByteSource& memory, ElfForm form, uint64_t address, uint64_t bytes, uint64_t bias,
                 base::AddressRange object);

  // Of the first entry with the tag.
  [[nodiscard]] std::optional<uint64_t> value(int64_t tag) const;
  // The same of an address in the object; 0: there is none.
  [[nodiscard]] uint64_t address(int64_t tag) const;
  // Where the entry itself is; 0: there is none.
  [[nodiscard]] uint64_t place(int64_t tag) const;

  // The symbols that the object shows to others, in memory. Count 0: not known.
  [[nodiscard]] SymbolTable symbols(const ByteSource& memory) const;

 private:
  struct Entry {
    int64_t tag;
    uint64_t value;
  };
  [[nodiscard]] uint64_t count_symbols(const ByteSource& memory) const;

  ElfForm form_;
  uint64_t start_;
  uint64_t bias_;
  base::AddressRange object_;
  std::vector<Entry> entries_;
};

}  // namespace heaptap::elf
