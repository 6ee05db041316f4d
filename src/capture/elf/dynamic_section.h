// Dynamic section of a loaded object in memory: some loaders relocate its addresses, others don't.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "capture/elf/elf_headers.h"
#include "capture/elf/symbol_search.h"
#include "common/base/address_range.h"
#include "common/base/byte_source.h"

namespace heaptap::elf {

class DynamicSection {
 public:
  // For an object mapped in `object`, with `bias` added to its link addresses.
  DynamicSection(const base::ByteSource& memory, ElfForm form, uint64_t address, uint64_t bytes, uint64_t bias,
                 base::AddressRange object);

  // Value of the first entry with the tag.
  [[nodiscard]] std::optional<uint64_t> value(int64_t tag) const;
  // As value(), for an address in the object; 0: none.
  [[nodiscard]] uint64_t address(int64_t tag) const;
  // Address of the entry itself; 0: none.
  [[nodiscard]] uint64_t place(int64_t tag) const;

  // Exported symbols, in memory. Count 0: unknown.
  [[nodiscard]] SymbolTable symbols(const base::ByteSource& memory) const;

 private:
  struct Entry {
    int64_t tag;
    uint64_t value;
  };
  [[nodiscard]] uint64_t count_symbols(const base::ByteSource& memory) const;

  ElfForm form_;
  uint64_t start_;
  uint64_t bias_;
  base::AddressRange object_;
  std::vector<Entry> entries_;
};

}  // namespace heaptap::elf
