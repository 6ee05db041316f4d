// The functions of an ELF file of either width, with their bytes: for tests, which trust the file.
#pragma once
#include <elf.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

namespace heaptap::tests {

struct ElfFunction {
  std::string name;
  uint64_t address = 0;
  std::vector<uint8_t> bytes;  // a few more than it has, so that the last instruction is there
  uint64_t size = 0;
};

class ElfFile {
 public:
  explicit ElfFile(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(in), {});
  }

  [[nodiscard]] bool exists() const { return bytes_.size() > sizeof(Elf64_Ehdr); }
  [[nodiscard]] uint16_t machine() const { return at<Elf64_Ehdr>(0).e_machine; }
  [[nodiscard]] unsigned word_bytes() const { return bytes_[EI_CLASS] == ELFCLASS64 ? 8 : 4; }

  [[nodiscard]] std::vector<ElfFunction> functions() const {
    if (word_bytes() == 8) return functions_of<Elf64_Ehdr, Elf64_Shdr, Elf64_Sym>();
    return functions_of<Elf32_Ehdr, Elf32_Shdr, Elf32_Sym>();
  }

 private:
  template <typename T>
  T at(uint64_t offset) const {
    T value{};
    if (offset + sizeof(T) <= bytes_.size()) std::memcpy(&value, &bytes_[offset], sizeof(T));
    return value;
  }

  template <typename Header, typename Section, typename Symbol>
  std::vector<ElfFunction> functions_of() const {
    const auto header = at<Header>(0);
    const auto section = [&](uint64_t index) { return at<Section>(header.e_shoff + index * sizeof(Section)); };
    std::vector<ElfFunction> functions;
    for (unsigned i = 0; i < header.e_shnum; ++i) {
      const Section table = section(i);
      if (table.sh_type != SHT_DYNSYM && table.sh_type != SHT_SYMTAB) continue;
      const uint64_t names = section(table.sh_link).sh_offset;
      for (uint64_t offset = 0; offset < table.sh_size; offset += sizeof(Symbol)) {
        const auto symbol = at<Symbol>(table.sh_offset + offset);
        const unsigned type = symbol.st_info & 15U;
        if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_shndx == SHN_UNDEF) continue;
        const Section code = section(symbol.st_shndx);
        const uint64_t begin = symbol.st_value - code.sh_addr + code.sh_offset;
        functions.push_back(
            {&bytes_[names + symbol.st_name], symbol.st_value, piece(begin, symbol.st_size + 16), symbol.st_size});
      }
    }
    return functions;
  }

  std::vector<uint8_t> piece(uint64_t begin, uint64_t size) const {
    const uint64_t end = std::min<uint64_t>(begin + size, bytes_.size());
    return begin < end ? std::vector<uint8_t>(&bytes_[begin], &bytes_[begin] + (end - begin)) : std::vector<uint8_t>();
  }

  std::vector<char> bytes_;
};

}  // namespace heaptap::tests
