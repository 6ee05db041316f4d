// ELF reader for either word size and byte order, from a file or from memory: header, segments, sections. Trusts no
// byte: unreadable or invalid parts count as missing.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/byte_source.h"

namespace heaptap::elf {

// File source. Reads instead of mapping: a truncated file must not crash the reader.
class FileBytes final : public base::ByteSource {
 public:
  // Doesn't own the descriptor.
  explicit FileBytes(int file) : file_(file) {}
  size_t read_some(uint64_t offset, void* to, size_t bytes) const override;

 private:
  int file_;
};

struct ElfForm {
  unsigned word_bytes = 8;
  bool is_big_endian = false;
  bool operator==(const ElfForm&) const = default;

  // Of programs that run on this machine.
  static ElfForm of_this_machine(unsigned word_bytes);
  // A number of 1, 2, 4 or 8 bytes.
  [[nodiscard]] uint64_t number(const uint8_t* at, unsigned bytes) const;
};

struct ElfSegment {
  uint32_t type = 0;
  uint32_t flags = 0;
  uint64_t offset = 0;
  uint64_t address = 0;
  uint64_t file_bytes = 0;
  uint64_t memory_bytes = 0;
  uint64_t alignment = 0;
};

struct ElfSection {
  std::string name;
  uint32_t type = 0;
  uint64_t flags = 0;
  uint64_t address = 0;
  uint64_t offset = 0;
  uint64_t bytes = 0;
  uint32_t link = 0;
  uint64_t entry_bytes = 0;
};

struct ElfSymbol {
  uint32_t name = 0;  // offset in the string table
  uint8_t type = 0;
  uint8_t binding = 0;
  uint16_t section = 0;
  uint64_t value = 0;
  uint64_t size_bytes = 0;
};

// Entries of a table of segments, as many of them as are there.
std::vector<ElfSegment> read_segments(const base::ByteSource& source, uint64_t at, size_t count, ElfForm form);

class ElfHeaders {
 public:
  // `at`: offset of the ELF header, which segment headers are relative to. None: not ELF.
  static std::optional<ElfHeaders> read(const base::ByteSource& source, uint64_t at = 0);

  [[nodiscard]] ElfForm form() const { return form_; }
  [[nodiscard]] uint16_t type() const { return type_; }
  [[nodiscard]] uint16_t machine() const { return machine_; }
  [[nodiscard]] uint64_t entry() const { return entry_; }
  [[nodiscard]] const std::vector<ElfSegment>& segments() const { return segments_; }

  // For files: memory doesn't contain them. Empty: none.
  [[nodiscard]] std::vector<ElfSection> read_sections(const base::ByteSource& source) const;

 private:
  ElfForm form_;
  uint16_t type_ = 0;
  uint16_t machine_ = 0;
  uint64_t entry_ = 0;
  std::vector<ElfSegment> segments_;
  uint64_t sections_offset_ = 0;
  unsigned sections_ = 0;
  unsigned section_names_ = 0;
};

// Null: none of this name.
const ElfSection* find_section(const std::vector<ElfSection>& sections, std::string_view name);

size_t symbol_bytes(ElfForm form);
// The next symbols of a table, up to `most` and up to 4,096; fewer: end of the table.
std::vector<ElfSymbol> read_symbols(const base::ByteSource& source, ElfForm form, uint64_t at, uint64_t most);

// The value of the first note of this owner and type; empty: none.
std::vector<uint8_t> find_note(const base::ByteSource& source, ElfForm form, uint64_t at, uint64_t bytes,
                               std::string_view owner, uint32_t type);

// A NUL-terminated text, up to `most` bytes.
std::string read_text(const base::ByteSource& source, uint64_t at, size_t most);

}  // namespace heaptap::elf
